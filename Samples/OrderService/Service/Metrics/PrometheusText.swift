/// Writes metrics in Prometheus' text format.
///
/// The format: “Exposition formats”, version 0.0.4, in Prometheus' documentation. Lines of a metric
/// stand together behind its type; names have `_` in place of what can't be in them.
struct PrometheusText {
  private(set) var text = ""

  /// The media type of the text.
  static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// A name that a metric or a label can have.
  static func name(_ name: String) -> String {
    var result = ""
    for character in name.unicodeScalars {
      let isAllowed =
        character.isASCII && (character.properties.isAlphabetic || character == "_")
        || ("0"..."9").contains(character) && !result.isEmpty
      result.unicodeScalars.append(isAllowed ? character : "_")
    }
    return result
  }

  /// Writes a metric.
  ///
  /// - Parameters:
  ///   - name: Its name, which has only what is allowed.
  ///   - series: Its series, each with its labels; all of one kind.
  mutating func add(_ name: String, _ series: [(labels: [(String, String)], sample: MetricSample)])
  {
    guard let type = series.first?.sample.type else { return }
    text += "# TYPE \(name) \(type)\n"
    for (labels, sample) in series {
      switch sample {
      case .counter(let value), .gauge(let value): add(name, labels, value)
      case .histogram(let histogram):
        var count = 0
        for (bound, bucket) in zip(MetricSample.Histogram.bounds, histogram.counts) {
          count += bucket
          add("\(name)_bucket", labels + [("le", Self.number(bound))], Double(count))
        }
        count += histogram.counts.last ?? 0
        add("\(name)_bucket", labels + [("le", "+Inf")], Double(count))
        add("\(name)_sum", labels, histogram.sum)
        add("\(name)_count", labels, Double(count))
      }
    }
  }

  private mutating func add(_ name: String, _ labels: [(String, String)], _ value: Double) {
    text += name
    if !labels.isEmpty {
      let pairs = labels.map { "\(Self.name($0))=\"\(Self.escaped($1))\"" }
      text += "{\(pairs.joined(separator: ","))}"
    }
    text += " \(Self.number(value))\n"
  }

  private static func number(_ value: Double) -> String {
    guard value == value.rounded(), value.magnitude < 1e15 else {
      return value.isNaN ? "NaN" : value.isInfinite ? (value < 0 ? "-Inf" : "+Inf") : "\(value)"
    }
    return "\(Int64(value))"
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(character)
      }
    }
    return result
  }
}
