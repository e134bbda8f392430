"""A-DDP on Flower: real processes, a server that steps and users that keep their rows.

``wire`` and ``member`` know nothing of Flower: what is sent, and a user's own side. ``client`` and
``server`` are the two Flower apps around them, ``deploy`` starts and stops everything on one
machine. Needs the extra ``dpcore-a-ddp[flower]``, but for ``wire`` and ``member``.
"""
