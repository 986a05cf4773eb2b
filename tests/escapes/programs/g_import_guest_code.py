import guest_api.inside.program
return 1
