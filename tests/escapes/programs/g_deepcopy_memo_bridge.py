import copy

class Memo:
    def __init__(self, skipped):
        self.asked = 0
        self.skipped = skipped
        self.kept = {}
    def get(self, key, default=None):
        self.asked += 1
        return 0 if self.asked == self.skipped else default
    def __getitem__(self, key):
        return self.kept[key]
    def __setitem__(self, key, value):
        self.kept[key] = value

for number in range(1, 30):
    memo = Memo(number)
    try:
        copy.deepcopy(print, memo)
    except (TypeError, KeyError):
        continue
    for kept in memo.kept.values():
        if "Channel" in str(kept):
            return str(kept)
raise ValueError("nothing of the bridge was kept")
