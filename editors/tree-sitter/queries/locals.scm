(source_file) @local.scope
(fn) @local.scope
(comprehension) @local.scope
(constraint) @local.scope
(param name: (identifier) @local.definition)
(data name: (identifier) @local.definition)
(set name: (identifier) @local.definition)
(let name: (identifier) @local.definition)
(fn name: (identifier) @local.definition)
(var name: (identifier) @local.definition)
(parameter name: (identifier) @local.definition)
(index name: (identifier) @local.definition)
(identifier) @local.reference
