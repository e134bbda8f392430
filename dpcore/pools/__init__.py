"""Users who each keep their rows and send noisy gradients: the other trust boundary."""

from dpcore.pools.in_process import InProcessPool
from dpcore.pools.ledger import FileLedger, Ledger
from dpcore.pools.messages import Answers, Declined, Inbox, Rejection, Reply
from dpcore.pools.sessions import SessionPool
from dpcore.pools.terms import Terms, User
from dpcore.pools.user import UserSession

__all__ = [
    "Answers",
    "Declined",
    "FileLedger",
    "Inbox",
    "InProcessPool",
    "Ledger",
    "Rejection",
    "Reply",
    "SessionPool",
    "Terms",
    "User",
    "UserSession",
]
