"""Threads that wait for work: each called once, kept, and ended with what holds them."""

import gc
import threading
import weakref

from dpcore.engines.thread_pool import ThreadPool


def names():
    return [thread for thread in threading.enumerate() if thread.name == "dpcore"]


def test_each_thread_is_called_and_the_same_ones_are_called_again():
    threads, seen = ThreadPool(3), []
    for _ in range(2):
        # All three at a time, with this one, or the barrier breaks.
        met = threading.Barrier(4)

        def work(met=met):
            seen.append(threading.get_ident())
            met.wait(timeout=20)

        threads.call(work)
        met.wait(timeout=20)
    assert sorted(seen[:3]) == sorted(seen[3:]) and len(set(seen)) == 3


def test_threads_end_with_what_holds_them_and_keep_nothing_of_their_work():
    class Work:
        def __call__(self):
            done.set()

    before, done = names(), threading.Event()
    waiting, work = ThreadPool(2), Work()
    kept = weakref.ref(work)
    waiting.call(work)
    assert done.wait(timeout=20)
    threads = [thread for thread in names() if thread not in before]
    assert len(threads) == 2
    del waiting, work
    gc.collect()
    for thread in threads:
        thread.join(timeout=20)
    assert not any(thread.is_alive() for thread in threads) and kept() is None
