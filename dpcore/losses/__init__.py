"""Row losses: functions of a margin and a label, with the constants the theorems need."""
