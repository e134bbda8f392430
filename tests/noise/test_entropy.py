import copy
import os
import pickle
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from dpcore.errors import InvalidInputError
from dpcore.noise import entropy
from dpcore.noise.entropy import SeededEntropy, SystemEntropy
from dpcore.noise.source import SystemNoise

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


def test_words_come_from_the_system_and_are_never_reused():
    entropy = SystemEntropy()
    words = np.concatenate([entropy.words(n) for n in (0, 1, 7, 5000, 1000, 1000, 3000)])
    assert words.dtype == np.uint64 and words.size == 10008
    # 10,008 words agree somewhere with probability 3e-12.
    assert np.unique(words).size == words.size


def test_the_system_is_asked_for_every_word(monkeypatch):
    asked = []

    def counting(n):
        asked.append(n)
        return bytes(range(256)) * (n // 256 + 1) if n % 256 else bytes(range(256)) * (n // 256)

    monkeypatch.setattr(os, "urandom", counting)
    entropy = SystemEntropy()
    for _ in range(50):
        entropy.words(2048)
    assert sum(asked) >= 50 * 2048 * 8


def test_no_word_is_kept_for_later(monkeypatch):
    """A buffer of 16 KiB was: a raw fork by a C library with the same process number, or a copied
    machine, had its words too."""
    asked, urandom = [], os.urandom
    monkeypatch.setattr(os, "urandom", lambda n: asked.append(n) or urandom(n))
    entropy = SystemEntropy()
    drawn = [entropy.words(n) for n in (1, 300, 4096)]
    assert asked == [8, 2400, 32768] and all(row.flags.writeable for row in drawn)
    assert not vars(entropy)


class Buffered(SystemEntropy):
    """Broken on purpose: words that were taken at once and are handed out later."""

    def __init__(self):
        self.kept = super().words(2048)

    def words(self, n):
        taken, self.kept = self.kept[:n], self.kept[n:]
        return taken


FORK = """
import ctypes, os, sys
sys.path.insert(0, {tests!r})
from dpcore.noise.entropy import SystemEntropy
from test_entropy import Buffered

entropy = {kind}()
entropy.words(3)
read, write = os.pipe()
# The C library's own: Python's hooks of a fork do not run.
child = ctypes.CDLL(None).fork()
if child == 0:
    os.write(write, entropy.words({n}).tobytes()[:32])
    os._exit(0)
os.waitpid(child, 0)
print(os.read(read, 32).hex(), entropy.words({n}).tobytes()[:32].hex())
"""


@pytest.mark.slow
@needs_fork
@pytest.mark.parametrize(
    "kind, n, same",
    [("SystemEntropy", 4, False), ("SystemEntropy", 5000, False), ("Buffered", 4, True)],
)
def test_a_child_of_a_raw_fork_draws_other_words(kind, n, same):
    script = FORK.format(tests=str(Path(__file__).parent), kind=kind, n=n)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    child, parent = run.stdout.split()
    assert len(child) == len(parent) == 64
    assert (child == parent) is same


SAME_NUMBER = """
import ctypes, os, ssl
from dpcore.noise.entropy import SystemEntropy

if {unseeded}:
    ssl.RAND_add = lambda *_: None
SystemEntropy().words(5000)
if ctypes.CDLL(None).unshare(0x20000000):
    raise SystemExit("no namespace")
read, write = os.pipe()
child = os.fork()
words = SystemEntropy().words(5000).tobytes()[:32]
if child == 0:
    os.write(write, words)
    os._exit(0)
os.waitpid(child, 0)
print(os.getpid(), os.read(read, 32).hex(), words.hex())
"""


@needs_fork
@pytest.mark.parametrize("unseeded", [False, True])
def test_a_child_of_the_same_number_draws_other_words(unseeded):
    # As in a container: both are number 1, each of its own namespace. The broken twin trusts
    # OpenSSL to notice the fork.
    alone = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c"]
    command = [*alone, SAME_NUMBER.format(unseeded=unseeded)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("no unshare on this system")
    if run.returncode:
        pytest.skip(f"no namespaces of processes here: {run.stderr.strip()[-80:]}")
    number, child, parent = run.stdout.split()
    assert number == "1" and len(child) == len(parent) == 64
    assert (child == parent) is unseeded


def test_large_requests_are_seeded_by_the_system_piece_by_piece(monkeypatch):
    seeds, pieces, add, give = [], [], ssl.RAND_add, ssl.RAND_bytes
    monkeypatch.setattr(entropy, "_PIECE_WORDS", 2000)
    monkeypatch.setattr(ssl, "RAND_add", lambda seed, n: seeds.append(seed) or add(seed, n))
    monkeypatch.setattr(ssl, "RAND_bytes", lambda n: pieces.append(n) or give(n))
    words = SystemEntropy().words(5000)
    assert pieces == [16000, 16000, 8000] and np.unique(words).size == 5000
    assert len(set(seeds)) == 3 and {len(seed) for seed in seeds} == {48}
    pieces.clear()
    assert SystemEntropy().words(6001).size == 6001 == sum(pieces) // 8


@pytest.mark.parametrize("make", [SystemEntropy, SystemNoise, lambda: SeededEntropy(1)])
@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_is_neither_picklable_nor_copyable(make, duplicate):
    with pytest.raises(TypeError, match="cannot be pickled or copied"):
        duplicate(make())


def test_threads_never_share_a_word():
    entropy, drawn = SystemEntropy(), []

    def draw():
        drawn.extend(entropy.words(13) for _ in range(200))

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(drawn)
    assert words.size == 4 * 200 * 13 == np.unique(words).size


def test_a_seed_gives_the_same_words_however_they_are_asked_for():
    whole = SeededEntropy(7).words(5000)
    pieces = SeededEntropy(7)
    assert np.array_equal(whole, np.concatenate([pieces.words(n) for n in (0, 1, 999, 3000, 1000)]))
    assert not np.array_equal(whole, SeededEntropy(8).words(5000))
    assert np.unique(whole).size == whole.size
    # SHAKE-256 of the text, first eight bytes, little endian: the same on every machine.
    assert int(whole[0]) == 6056884478859306226
    assert SeededEntropy(7).seeded and not SystemEntropy().seeded


def test_a_negative_seed_is_refused():
    with pytest.raises(InvalidInputError, match="Expected seed=-1 >= 0"):
        SeededEntropy(-1)
