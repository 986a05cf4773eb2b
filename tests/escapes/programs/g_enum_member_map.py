import uuid

kind = type(uuid.NAMESPACE_DNS.is_safe)
kind._member_map_["eval"] = 1
return str(kind["eval"])
