import copy

memo = {}
copy.deepcopy(print, memo)
found = [str(value) for value in memo.values() if "Output" in str(value) or "Channel" in str(value)]
if not found:
    raise ValueError("nothing of the bridge was kept")
return found
