return "x".encode("mbcs_guest_made")
