import Metrics
import Synchronization

/// One series of a metric: its labels and its numbers.
final class PrometheusSeries: CounterHandler, MeterHandler, RecorderHandler, TimerHandler {
  let labels: [(String, String)]
  /// The word of Prometheus' format for its kind, which doesn't change.
  let type: String
  private let state: Mutex<MetricSample>

  init(_ labels: [(String, String)], _ sample: MetricSample) {
    self.labels = labels
    type = sample.type
    state = Mutex(sample)
  }

  var sample: MetricSample { state.withLock { $0 } }

  func increment(by amount: Int64) { add(Double(amount)) }

  func increment(by amount: Double) { add(amount) }

  func decrement(by amount: Double) { add(-amount) }

  /// Does nothing: a counter of Prometheus never goes back.
  func reset() {}

  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) { state.withLock { $0 = .gauge(value) } }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    state.withLock { sample in
      guard case .histogram(var histogram) = sample else {
        sample = .gauge(value)
        return
      }
      histogram.record(value)
      sample = .histogram(histogram)
    }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  private func add(_ amount: Double) {
    state.withLock { sample in
      switch sample {
      case .counter(let value): sample = .counter(value + amount)
      case .gauge(let value): sample = .gauge(value + amount)
      case .histogram: break
      }
    }
  }
}
