import json
class Decoder(json.JSONDecoder):
    def decode(self, text):
        return self.scan_once.__self__.__class__
return json.loads("1", cls=Decoder)
