from json import decoder
return str(decoder.scanner)
