import TerminalSupport

/// Reads what happens when a step fails.
struct RetryReader {
  /// Reads the values.
  let fields: FieldReader

  /// A rule; nil for `none`, and where a mistake was found.
  func rule(_ node: YAMLNode) -> RetryRule? {
    if case .text(let text, _) = node.content, !node.isEmpty {
      if text == "none" { return nil }
      return fields.value(node, "‘retry’") { (text) throws(ValueProblem) in
        RetryRule(attempts: try AmountText.count(text, of: "the number of attempts"))
      }
    }
    var rule = RetryRule(attempts: nil)
    var places: [FileKeys.Retry: Place] = [:]
    for (key, entry) in fields.fields(of: node, "‘retry’", as: FileKeys.Retry.self) {
      places[key] = entry.place
      let value = entry.value
      switch key {
      case .attempts:
        rule.attempts = fields.value(value, "‘attempts’") { (text) throws(ValueProblem) in
          try AmountText.count(text, of: "the number of attempts")
        }
      case .delay:
        rule.delay = fields.value(value, "‘delay’", DurationText.duration) ?? rule.delay
      case .backoff: rule.backoff = backoff(value) ?? rule.backoff
      case .maximumDelay: rule.maximumDelay = fields.time(value, "‘max-delay’")
      case .jitter: rule.hasJitter = fields.flag(value, "‘jitter’") ?? false
      case .total: rule.total = fields.time(value, "‘total’")
      case .retryAfter: rule.retryAfter = fields.time(value, "‘retry-after’")
      }
    }
    guard case .map = node.content else { return nil }
    check(rule, places: places, at: node.place)
    return rule
  }

  private func backoff(_ node: YAMLNode) -> RetryRule.Backoff? {
    let names = RetryRule.Backoff.allCases.map(\.rawValue)
    return fields.value(node, "‘backoff’") { (text) throws(ValueProblem) in
      if let backoff = RetryRule.Backoff(rawValue: text) { return backoff }
      throw ValueProblem(
        "‘backoff’ can’t be ‘\(text.excerpt())’",
        help: NearestName.help(for: text, among: names) ?? "it is \(FieldReader.list(names))"
      )
    }
  }

  /// Notes what makes no sense together.
  private func check(_ rule: RetryRule, places: [FileKeys.Retry: Place], at place: Place) {
    let findings = fields.findings
    if places[.attempts] == nil, places[.total] == nil {
      findings.add(
        "‘retry’ says neither how often nor how long",
        at: place,
        help: "add ‘attempts’ or ‘total’"
      )
    }
    if rule.attempts == 1,
      let place = [.delay, .backoff, .maximumDelay, .jitter, .total, .retryAfter]
        .compactMap({ places[$0] }).min()
    {
      findings.add("with one attempt, there is nothing to wait for", at: place)
    }
    if rule.delay == .zero,
      let place = [.backoff, .maximumDelay, .jitter]
        .compactMap({ places[$0] }).min()
    {
      findings.add("without a delay, there is nothing to change about it", at: place)
    }
    if let most = rule.maximumDelay, let place = places[.maximumDelay] {
      if rule.backoff == .constant {
        findings.add("a constant delay has no ‘max-delay’", at: place)
      } else if most < rule.delay {
        findings.add(
          "‘max-delay’ is less than the delay of \(DurationText.text(rule.delay))",
          at: place
        )
      }
    }
    if let total = rule.total, let place = places[.total], total <= rule.delay {
      findings.add(
        "‘total’ is no more than the delay of \(DurationText.text(rule.delay)),"
          + " so there is no second attempt",
        at: place
      )
    }
  }
}
