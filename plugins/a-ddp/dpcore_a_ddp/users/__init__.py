"""Users who keep their rows: their messages, the contract of a pool of them, and fits over one."""
