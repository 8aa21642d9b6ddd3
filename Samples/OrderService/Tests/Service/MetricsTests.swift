import HummingbirdTesting
import Metrics
import OrderWorkflow
import Testing

@testable import OrderHTTP

/// Prometheus' text format, and what is counted.
@Suite struct MetricsTests {
  private let registry = PrometheusRegistry()

  @Test func `Metrics are written in the order of their names, each behind its type`() {
    Counter(label: "b.requests", dimensions: [("path", "/a")], factory: registry).increment(by: 2)
    Counter(label: "b.requests", dimensions: [("path", "/b")], factory: registry).increment()
    Meter(label: "a-open", dimensions: [], factory: registry).set(2.5)
    #expect(
      registry.text == """
        # TYPE a_open gauge
        a_open 2.5
        # TYPE b_requests_total counter
        b_requests_total{path="/a"} 2
        b_requests_total{path="/b"} 1

        """
    )
  }

  @Test func `The buckets of a histogram count all values up to their bounds`() {
    let timer = Timer(label: "t", dimensions: [("step", "x")], factory: registry)
    for milliseconds in [1, 2, 300, 500_000] { timer.recordMilliseconds(milliseconds) }
    let lines = registry.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "# TYPE t_seconds histogram")
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="0.001"} 1"#))
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="0.005"} 2"#))
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="0.25"} 2"#))
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="0.5"} 3"#))
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="120"} 3"#))
    #expect(lines.contains(#"t_seconds_bucket{step="x",le="+Inf"} 4"#))
    #expect(lines.contains(#"t_seconds_sum{step="x"} 500.303"#))
    #expect(lines.contains(#"t_seconds_count{step="x"} 4"#))
  }

  @Test func `Values of labels are escaped, and names mended`() {
    Counter(label: "1a b", dimensions: [("x.y", "a\"b\\c\nd")], factory: registry).increment()
    #expect(registry.text.contains(#"_a_b_total{x_y="a\"b\\c\nd"} 1"#))
  }

  @Test func `The same name and labels are the same metric`() {
    for _ in 1...3 {
      Counter(label: "c", dimensions: [("a", "b")], factory: registry).increment()
    }
    #expect(registry.text.contains(#"c_total{a="b"} 3"#))
  }

  @Test func `Orders are counted by step, outcome and cause`() async throws {
    let bench = try Bench()
    try await bench.desk.open()
    func place(_ sku: String, _ count: Int, key: String) async throws -> Order? {
      let lines = [OrderLine(sku: sku, quantity: count)]
      let draft = OrderDraft(customer: "Ada", cardToken: "t", lines: lines)
      let id = try await bench.desk.submit(draft, key: key).order.id
      return try await bench.desk.outcome(of: id, within: .seconds(60))
    }
    #expect(try await place("MUG", 1, key: "a")?.state == .confirmed)
    #expect(try await place("TEE", 9, key: "b")?.state.name == "failed")
    // The end of an order is told after its outcome is known.
    await bench.desk.drain(within: .seconds(60))
    let text = bench.registry.text
    let ended = "orders_operations_ended_total"
    #expect(text.contains(#"\#(ended){step="order",outcome="succeeded",cause=""} 1"#))
    #expect(
      text.contains(#"\#(ended){step="reserve",outcome="failed",cause="out of stock"} 1"#)
    )
    #expect(text.contains(#"orders_operations_waiting{step="order"} 0"#))
    #expect(text.contains(#"orders_operations_executing{step="order"} 0"#))
    #expect(text.contains(#"orders_operations_execution_seconds_count{step="charge","#))
    // Names of items and orders would make a new series for each.
    #expect(!text.contains("MUG") && !text.contains("step=\"other\""))
  }

  @Test func `The circuit is a gauge, and refused orders are counted by their problem`()
    async throws
  {
    let bench = try Bench(maximumOpen: 1)
    bench.payments.hold()
    try await bench.test { [bench] client in
      _ = try await client.place()
      for key in ["b", "c"] { _ = try await client.place(key: key) }
      _ = try await client.place("{}", key: "d")
      let lines = Set(try await client.get("/metrics").text.split(separator: "\n").map(String.init))
      for line in [
        "orders_open 1", #"orders_circuit{state="closed"} 1"#, #"orders_circuit{state="open"} 0"#,
        #"orders_circuit{state="half open"} 0"#, #"orders_refused_total{code="full"} 2"#,
        #"orders_refused_total{code="invalid"} 1"#,
      ] {
        #expect(lines.contains(line), "\(line)")
      }
      bench.payments.release()
    }
  }

  @Test(arguments: [
    ("order 0a1b", "order"), ("reserve MUG", "reserve"), ("reserve request", "reserve request"),
    ("charge", "charge"), ("charge requests", "charge requests"),
    ("release MUG requests", "release requests"),
    ("anything", "other"), ("", "other"),
  ])
  func `Steps have a bounded number of names`(name: String, step: String) {
    #expect(StepName(name).step == step)
  }
}
