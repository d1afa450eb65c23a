; made by go test ./cmd/internal/editors -update from the compiler's tables
(comment) @comment
(string) @string
(number) @number
(time) @number
["data" "fn" "let" "lower" "model" "param" "report" "solve" "upper" "var" "set" "within" "start" "column" "columns" "else" "forall" "if" "in" "maximize" "minimize" "subject" "then"] @keyword
["and" "not" "or"] @keyword.operator
["int" "matrix" "real" "vector" "integer" "binary" "text"] @type.builtin
["+" "-" "*" "/" "^" ".*" "./" ".^" "<" "<=" ">" ">=" "==" "!=" "=" "~" ".." "'"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":"] @punctuation.delimiter
(identifier) @variable
(fn name: (identifier) @function)
(call function: (identifier) @function)
(comprehension function: (identifier) @function)
(variable_set name: (identifier) @type.builtin)
(generator name: (identifier) @function.builtin)
(parameter name: (identifier) @variable.parameter)
(constraint name: (identifier) @label)
(setting name: (identifier) @property)
(report_item name: (identifier) @property)
((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin "abs" "addtocols" "addtorows" "atan" "bilinear" "card" "cols" "colsums" "cos" "covariance" "crossentropy" "diag" "distsq" "dot" "dual" "entropy" "erf" "exp" "eye" "floor" "frobenius" "gram" "huber" "kl" "length" "log" "log10" "log1pexp" "log2" "logistic" "logit" "logsumexp" "max" "mean" "min" "mse" "next" "norm1" "norm2" "normal_cdf" "norminf" "ones" "ord" "outer" "pinball" "prev" "prod" "quad" "rows" "rowsums" "sigmoid" "sign" "sin" "smoothabs" "smoothmax" "smoothmin" "smoothsign" "softmax" "softplus" "sqrt" "square" "sum" "sumsq" "tanh" "trace" "variance" "wsumsq" "zeros"))
