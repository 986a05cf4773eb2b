import datetime
class Text(str):
    def replace(self, old, new):
        return 5
class Zone(datetime.tzinfo):
    def utcoffset(self, when):
        return datetime.timedelta(0)
    def dst(self, when):
        return datetime.timedelta(0)
    def tzname(self, when):
        return Text("x")
return datetime.datetime(2026, 1, 2, tzinfo=Zone()).strftime("%Z")
