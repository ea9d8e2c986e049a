"""What the text of a translated loop may call: functions that numba links into it."""
