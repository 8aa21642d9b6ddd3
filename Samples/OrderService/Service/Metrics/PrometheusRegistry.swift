public import Metrics
import Synchronization

/// Keeps the metrics of a program, and writes them as Prometheus reads them.
///
/// ```swift
/// let registry = PrometheusRegistry()
/// MetricsSystem.bootstrap(registry)
/// print(registry.text)
/// ```
///
/// Counters get the ending `_total`, timers `_seconds`; both timers and recorders that aggregate are
/// histograms. Metrics that are made with the same name and labels are one.
public final class PrometheusRegistry: MetricsFactory {
  private struct Family {
    var series: [String: PrometheusSeries] = [:]
    var order: [String] = []
  }

  private let families = Mutex<[String: Family]>([:])

  /// Creates a registry without metrics.
  public init() {}

  /// All metrics, in the order of their names.
  public var text: String {
    let families = families.withLock { $0 }
    var text = PrometheusText()
    for (name, family) in families.sorted(by: { $0.key < $1.key }) {
      let series = family.order.compactMap { family.series[$0] }
      text.add(name, series.map { (labels: $0.labels, sample: $0.sample) })
    }
    return text.text
  }

  /// A number that only grows.
  public func makeCounter(
    label: String,
    dimensions: [(String, String)]
  ) -> any CounterHandler {
    series(label, "_total", dimensions, .counter(0))
  }

  /// A number that goes up and down.
  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, "", dimensions, .gauge(0))
  }

  /// Values one by one: a histogram of them if they are to be aggregated, else the last.
  public func makeRecorder(
    label: String,
    dimensions: [(String, String)],
    aggregate: Bool
  ) -> any RecorderHandler {
    series(label, "", dimensions, aggregate ? .histogram(.init()) : .gauge(0))
  }

  /// Durations: a histogram in seconds.
  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, "_seconds", dimensions, .histogram(.init()))
  }

  /// Does nothing: Prometheus wants series to stay.
  public func destroyCounter(_ handler: any CounterHandler) {}

  /// Does nothing: Prometheus wants series to stay.
  public func destroyMeter(_ handler: any MeterHandler) {}

  /// Does nothing: Prometheus wants series to stay.
  public func destroyRecorder(_ handler: any RecorderHandler) {}

  /// Does nothing: Prometheus wants series to stay.
  public func destroyTimer(_ handler: any TimerHandler) {}

  private func series(
    _ label: String,
    _ ending: String,
    _ labels: [(String, String)],
    _ sample: MetricSample
  ) -> PrometheusSeries {
    var name = PrometheusText.name(label)
    if !name.hasSuffix(ending) { name += ending }
    let key = labels.map { "\($0)\u{0}\($1)" }.joined(separator: "\u{0}")
    return families.withLock { families in
      // One of another kind has the name: the new one is counted, and isn't shown.
      let first = families[name]?.order.first.flatMap { families[name]?.series[$0] }
      if let first, first.type != sample.type { return PrometheusSeries(labels, sample) }
      if let known = families[name]?.series[key] { return known }
      let series = PrometheusSeries(labels, sample)
      families[name, default: Family()].series[key] = series
      families[name, default: Family()].order.append(key)
      return series
    }
  }
}
