return ().＿＿class＿＿
