// The grammar of the bilevelc modeling language for tree-sitter. The language's
// reference, lang/spec.md, has it in EBNF (section 12); cmd/internal/editors
// parses all models of the project with it.
//
// A newline ends a statement where the statement can be over, and is white space
// elsewhere: it is a token of its own only where the grammar has one.

const PREC = {
  if: -2, not: -1, or: 1, and: 2, compare: 3, add: 4, multiply: 5, sign: 6, power: 7, postfix: 8,
};

// Statements between newlines or semicolons, any number of which stand together.
const statements = ($, rule) => seq(repeat($._end), repeat(seq(rule, repeat1($._end))), optional(rule));
const commaSep1 = (rule) => seq(rule, repeat(seq(',', rule)));
const commaSep = (rule) => optional(commaSep1(rule));

module.exports = grammar({
  name: 'blv',

  extras: ($) => [/\s/, $.comment],
  word: ($) => $.identifier,

  rules: {
    source_file: ($) => statements($, $._top),

    _end: () => choice('\n', ';'),
    comment: () => token(seq('//', /[^\n]*/)),

    _top: ($) => choice($.model, $.param, $.data, $.set, $.let, $.fn, $.level, $.solve, $.report),

    model: ($) => seq('model', field('name', $.identifier)),
    param: ($) => seq('param', field('name', $.identifier), ':', field('type', $.type),
      optional(seq('=', field('value', $._expression)))),
    data: ($) => seq('data', field('name', $.identifier), ':', field('type', $.type),
      optional(choice(seq('column', field('column', $._column)), seq('columns', commaSep1($.columns)))),
      optional(choice(seq('=', field('value', $._expression)), seq('~', $.generator)))),
    columns: ($) => seq($._column, optional(seq('..', $._column))),
    _column: ($) => choice($.identifier, $.string),
    generator: ($) => seq(field('name', $.identifier), '(', commaSep($._expression), ')'),
    set: ($) => seq('set', field('name', $.identifier),
      optional(seq('(', commaSep1(field('key', $._column)), ')')),
      optional(seq('within', $.identifier, repeat(seq('*', $.identifier)))),
      optional(seq('=', choice($.elements, $.range)))),
    elements: ($) => seq('{', choice(commaSep($._element), $._indices), '}'),
    _element: ($) => choice($._label, $.tuple),
    tuple: ($) => seq('(', commaSep1($._label), ')'),
    _label: ($) => choice($.string, $.number),
    let: ($) => seq('let', field('name', $.identifier), '=', field('value', $._expression)),
    fn: ($) => seq('fn', field('name', $.identifier), '(', commaSep($.parameter), ')',
      optional(seq(':', field('result', $.type))), '=', field('body', $._expression)),
    parameter: ($) => seq(field('name', $.identifier), optional(seq(':', field('type', $.type)))),
    type: ($) => choice(
      'real', 'int',
      seq('vector', optional(seq('[', $._expression, ']'))),
      seq('matrix', optional(seq('[', $._expression, ',', $._expression, ']'))),
      seq(optional('text'), '[', commaSep1($._expression), ']'),
    ),

    level: ($) => seq(
      choice('upper', seq('lower', optional(seq(field('name', $.identifier), optional(seq('[', $._indices, ']')))))),
      repeat('\n'),
      $.block,
    ),
    block: ($) => seq('{', statements($, $._item), '}'),
    _item: ($) => choice($.var, $.let, $.objective, $.subject_to, $.constraint),
    var: ($) => seq('var', field('name', $.identifier), ':',
      choice(seq(field('type', $.type), optional($.kind)), $.kind),
      optional(seq('in', $.variable_set))),
    kind: () => choice('integer', 'binary'),
    variable_set: ($) => seq(field('name', $.identifier), optional(seq('(', commaSep1($._expression), ')'))),
    objective: ($) => seq(choice('minimize', 'maximize'), $._expression),
    // The constraints on further lines are items beside it.
    subject_to: ($) => seq('subject', 'to', optional($.constraint)),
    constraint: ($) => seq(
      optional(seq(field('name', $.identifier), ':')),
      optional(seq('forall', $._indices, ':')),
      $._sum, repeat1(seq(choice('<=', '>=', '=='), $._sum)),
    ),

    _indices: ($) => seq(commaSep1($.index), optional(seq('if', $._expression))),
    index: ($) => choice(
      seq(field('name', $.identifier), 'in', choice($._sum, $.range)),
      seq('(', field('name', $.identifier), repeat1(seq(',', field('name', $.identifier))), ')', 'in', $.identifier),
    ),
    range: ($) => seq($._sum, '..', $._sum),

    solve: ($) => seq('solve', repeat('\n'), '{', statements($, $.setting), '}'),
    setting: ($) => seq(optional('start'), field('name', $.identifier), '=', choice($._expression, $.time)),
    time: () => /\d+(\.\d+)?(h|m|s|ms)(\d+(\.\d+)?(m|s|ms))*/,
    report: ($) => seq('report', repeat('\n'), '{', statements($, $.report_item), '}'),
    report_item: ($) => seq(field('name', $.identifier), '=', field('value', $._expression)),

    _expression: ($) => choice($._sum, $.logical, $.not, $.comparison),
    logical: ($) => choice(
      prec.left(PREC.or, seq($._expression, 'or', $._expression)),
      prec.left(PREC.and, seq($._expression, 'and', $._expression)),
    ),
    not: ($) => prec.right(PREC.not, seq('not', $._expression)),
    comparison: ($) => prec.left(PREC.compare, seq($._sum, choice('<', '<=', '>', '>=', '==', '!='), $._sum)),

    _sum: ($) => choice($.binary, $.unary, $.if, $._postfix),
    binary: ($) => choice(
      prec.left(PREC.add, seq($._sum, choice('+', '-'), $._sum)),
      prec.left(PREC.multiply, seq($._sum, choice('*', '/', '.*', './'), $._sum)),
      prec.right(PREC.power, seq($._sum, choice('^', '.^'), $._sum)),
    ),
    unary: ($) => prec.right(PREC.sign, seq('-', $._sum)),
    if: ($) => prec.right(PREC.if, seq('if', $._expression, 'then', $._expression, 'else', $._expression)),

    _postfix: ($) => choice($.number, $.string, $.identifier, $.call, $.comprehension, $.parenthesized, $.list,
      $.transpose, $.subscript),
    transpose: ($) => prec(PREC.postfix, seq($._postfix, "'")),
    subscript: ($) => prec(PREC.postfix, seq(field('array', $._postfix), '[', commaSep1(choice(':', $._expression, $.range)), ']')),
    call: ($) => prec(PREC.postfix, seq(field('function', $.identifier), '(', commaSep($._expression), ')')),
    comprehension: ($) => choice(
      prec(PREC.postfix, seq(field('function', $.identifier), '(', $._indices, ':', $._expression, ')')),
      seq('[', $._indices, ':', $._expression, ']'),
    ),
    parenthesized: ($) => seq('(', $._expression, ')'),
    list: ($) => seq('[', choice(commaSep($._expression), seq($._expression, repeat1(seq(';', $._expression)))), ']'),

    string: () => /"([^"\\\n]|\\.)*"/,
    number: () => /\d+(\.\d+)?([eE][+-]?\d+)?/,
    identifier: () => /[\p{L}_][\p{L}\p{Nd}_]*/,
  },
});
