import ServiceSupport

extension Mood: Encodable {
  private enum Key: String, CodingKey, CaseIterable {
    case fail, lie, lose, slow, down, rate
  }

  /// Writes all fields; the rate is absent where there is none.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(fail, forKey: .fail)
    try container.encode(lie, forKey: .lie)
    try container.encode(lose, forKey: .lose)
    try container.encode(DurationText.text(slow), forKey: .slow)
    try container.encode(isDown, forKey: .down)
    try container.encodeIfPresent(rate, forKey: .rate)
  }

  /// What a request for another mood says, and all that is wrong with it.
  struct Reading: Decodable, Sendable {
    var mood = Mood()
    var mistakes: [String] = []

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: AnyKey.self)
      for field in fields.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
        guard let key = Key(rawValue: field.stringValue) else {
          let known = Key.allCases.map(\.rawValue).joined(separator: ", ")
          mistakes.append("“\(field.stringValue)” is unknown; there are \(known)")
          continue
        }
        switch key {
        case .fail: probability(\.fail, field, fields)
        case .lie: probability(\.lie, field, fields)
        case .lose: probability(\.lose, field, fields)
        case .slow:
          let text = try? fields.decode(String.self, forKey: field)
          if let duration = text.flatMap(DurationText.duration) {
            mood.slow = duration
          } else {
            mistakes.append("“slow” is a duration such as \"2s\" or \"150ms\"")
          }
        case .down:
          if let isDown = try? fields.decode(Bool.self, forKey: field) {
            mood.isDown = isDown
          } else {
            mistakes.append("“down” is true or false")
          }
        case .rate:
          if (try? fields.decodeNil(forKey: field)) == true {
            mood.rate = nil
          } else if let rate = try? fields.decode(Int.self, forKey: field), rate > 0 {
            mood.rate = rate
          } else {
            mistakes.append("“rate” is a number of requests a second, at least 1, or null")
          }
        }
      }
    }

    private mutating func probability(
      _ path: WritableKeyPath<Mood, Double>,
      _ field: AnyKey,
      _ fields: KeyedDecodingContainer<AnyKey>
    ) {
      if let value = try? fields.decode(Double.self, forKey: field), (0...1).contains(value) {
        mood[keyPath: path] = value
      } else {
        mistakes.append("“\(field.stringValue)” is a number from 0 to 1")
      }
    }
  }
}
