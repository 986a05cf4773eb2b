class F(asyncio.Future):
    def cancel(self, msg=None):
        return True
return str(F())
