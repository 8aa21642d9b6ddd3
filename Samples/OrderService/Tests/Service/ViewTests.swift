import AdvancedOperations
import AdvancedOperationsVisualization
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OrderWorkflow
import Synchronization
import Testing

@testable import OrderHTTP

/// What the service says about its orders, and the page.
@Suite struct ViewTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test func `The events of an order begin with what it is and end with its outcome`() async throws
  {
    bench.payments.hold()
    try await bench.test(.live) { [bench] client in
      let link = try #require(try await client.place().headers[.location])
      let id = OrderID(rawValue: String(link.dropFirst("/orders/".count)))
      let order = try #require(bench.desk.operation(of: id))
      async let stream = client.get("\(link)/events")
      let charge = order.children.first { $0.name == "charge" }
      while charge?.isExecuting != true { await Task.yield() }
      bench.payments.release()
      let text = try await stream.text
      let events = text.split(separator: "\n").filter { $0.hasPrefix("event: ") }
      #expect(events.first == "event: order" && events.last == "event: outcome")
      #expect(text.contains(#""state":"confirmed""#))
    }
    // A browser that comes back is sent away, anyone else gets the outcome.
    try await bench.test { [bench] client in
      let id = try #require(try await bench.desk.orders(limit: 1).first?.id)
      let link = "/orders/\(id)"
      let name = try #require(HTTPField.Name("Last-Event-ID"))
      #expect(try await client.get("\(link)/events", [name: "end"]).status == .noContent)
      let later = try await client.get("\(link)/events").text
      #expect(later.contains("event: outcome\n"))
    }
  }

  @Test func `The steps of an order are in its events`() async throws {
    let steps = ["a", "b"].map { ResultOperation(name: $0) {} }
    let group = GroupOperation(name: "order 7") { steps }
    let events = OrderEvents(of: group).stream
    let queue = AdvancedOperationQueue()
    queue.addOperation(group)
    var seen: [String: [String]] = [:]
    for await event in events { seen[event.step, default: []].append(event.event) }
    let life = ["enqueued", "started", "willFinish", "finished"]
    #expect(
      seen.mapValues { $0.filter { $0 != "progress" } } == ["order": life, "a": life, "b": life]
    )
  }

  @Test func `An open order is explained down to what it waits for`() async throws {
    bench.payments.hold()
    try await bench.test { [bench] client in
      let (link, _) = try await bench.orderThatIsCharging(client)
      var explanation = ""
      while !explanation.contains("has code that waits for charge requests") {
        explanation = try await client.get("\(link)/explain").text
      }
      #expect(!explanation.contains("charge requests, charge requests"))
      #expect(try await client.get("/operations").json["mermaid"] as? String != "")
      #expect(try await client.get("/operations.txt").text.contains("queue “orders”"))
      let picture = try await client.get("/operations.svg")
      #expect(picture.headers[.contentType] == "image/svg+xml")
      #expect(picture.text.contains(">reserve MUG</text>"))
      #expect(picture.text.hasPrefix("<svg") && picture.text.hasSuffix("</svg>\n"))
      bench.payments.release()
      _ = try await client.place(query: "?wait=60s")
      #expect(try await client.get("\(link)/timeline.svg").text.contains("reserve MUG"))
    }
  }

  @Test
  func `A refund that isn't confirmed is on the page and in the explanation, with the answer`()
    async throws
  {
    bench.payments.liesAboutRefunds = true
    bench.payments.hold()
    try await bench.test { [bench] client in
      let (link, id) = try await bench.orderThatIsCharging(client)
      #expect(try await bench.desk.requestCancel(of: id, because: "a change of mind"))
      bench.payments.release()
      while bench.desk.latestRetries(of: id)["refund"] == nil { await Task.yield() }
      let reason =
        "The payment provider's answer confirms nothing: the refund's status is “charged”"
      #expect(try await client.get("\(link)/explain").text.contains(reason))
      let row = try #require(try await bench.server.feed.current().rows.first)
      #expect(row.state == "rolling back")
      #expect(row.why?.contains("a change of mind. The refund is repeated, attempt ") == true)
      #expect(row.why?.contains(reason) == true)
      bench.payments.liesAboutRefunds = false
      _ = try await bench.desk.outcome(of: id, within: .seconds(60))
    }
    #expect(bench.payments.open.isEmpty)
  }

  @Test func `An order whose money isn't settled is first, however many came later`() async throws {
    bench.payments.liesAboutRefunds = true
    bench.payments.hold()
    try await bench.test { [bench] client in
      let (_, id) = try await bench.orderThatIsCharging(client)
      #expect(try await client.get("/metrics").text.contains("orders_unsettled 0\n"))
      #expect(try await bench.desk.requestCancel(of: id, because: "a change of mind"))
      bench.payments.release()
      while bench.desk.latestRetries(of: id)["refund"] == nil { await Task.yield() }
      let draft = OrderDraft(
        customer: "Bob",
        cardToken: "t",
        lines: [OrderLine(sku: "TEE", quantity: 9)]
      )
      for number in 0...PageState.rowLimit {
        let later = try await bench.desk.submit(draft, key: "later \(number)").order.id
        _ = try await bench.desk.outcome(of: later, within: .seconds(60))
      }
      let rows = try await bench.server.feed.current().rows
      #expect(rows.first?.id == id.rawValue && rows.count == PageState.rowLimit + 1)
      let text = try await client.get("/operations.txt").text
      #expect(text.hasPrefix("order \(id) is rolling back. The refund is repeated, attempt "))
      #expect(try await client.get("/metrics").text.contains("orders_unsettled 1\n"))
      bench.payments.liesAboutRefunds = false
      _ = try await bench.desk.outcome(of: id, within: .seconds(60))
    }
    #expect(bench.payments.open.isEmpty)
  }

  @Test func `A customer's name is text on the page, whatever it is`() async throws {
    let name = #"<script>alert('1')</script> & "Co""#
    let json = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
    try await bench.test { client in
      let order = Bench.order.replacing("\"Ada\"", with: json)
      _ = try await client.place(order, query: "?wait=60s")
      let page = try await client.get("/")
      #expect(page.status == .ok)
      #expect(!page.text.contains("<script>alert"))
      #expect(page.text.contains("&lt;script&gt;alert"))
      // The value of an attribute ends where it should.
      #expect(page.text.contains("Mug &lt;large&gt;"))
      let policy = try #require(page.headers[.contentSecurityPolicy])
      #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
      for path in ["/page.css", "/page.js"] {
        let file = try await client.get(path)
        #expect(file.status == .ok && !file.text.contains("http://") && !file.text.isEmpty)
      }
    }
  }

  @Test(arguments: ["<", ">", "\"", "'", "&"] as [Unicode.Scalar])
  func `A mark that clusters with its neighbours is text on the page, too`(
    mark: Unicode.Scalar
  ) async throws {
    // A Character of its own, which equals no mark; a browser reads the mark.
    let name = "\u{600}\(mark)\u{301}"
    let json = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
    try await bench.test { client in
      let order = Bench.order.replacing("\"Ada\"", with: json)
      #expect(try await client.place(order, query: "?wait=60s").status == .ok)
      let page = try await client.get("/").text
      #expect(page.hasPrefix("<!doctype html>"))
      // In the row, in the state of the script, and nowhere as a mark.
      #expect(page.utf8.split(separator: "\u{600}".utf8).count == 3)
      for cluster in ["\u{600}\(mark)", "\(mark)\u{301}", "\u{600}\\\(mark)"] where mark != "&" {
        #expect(!Array(page.utf8).contains(Array(cluster.utf8)), "\(mark)")
      }
      #expect(!Array(page.utf8).contains(Array("&\u{301}".utf8)))
    }
    // Names are in the text of elements, where a quotation mark is text.
    guard "<>&".unicodeScalars.contains(mark) else { return }
    let group = GroupOperation(name: name) { ResultOperation(name: name) {} }
    let svg = OperationGraph(of: [group]).svg()
    #expect(!Array(svg.utf8).contains(Array("\(mark)\u{301}".utf8)))
    #expect(Array(svg.utf8).contains(Array(";\u{301}".utf8)))
  }

  @Test func `Explaining the queue takes a twentieth of the time for any number of requests`() {
    let time = Mutex(ContinuousClock.now)
    let looks = Mutex(0)
    let explanation = SharedExplanation(now: { time.withLock { $0 } }) {
      time.withLock { $0 += .milliseconds(200) }
      return looks.withLock { count in
        count += 1
        return "look \(count)"
      }
    }
    for _ in 0..<3 { #expect(explanation.text == "look 1") }
    time.withLock { $0 += .milliseconds(3_999) }
    #expect(explanation.text == "look 1")
    time.withLock { $0 += .milliseconds(1) }
    for _ in 0..<3 { #expect(explanation.text == "look 2") }
    #expect(looks.withLock { $0 } == 2)
  }

  @Test func `The page receives changes`() async throws {
    let feed = bench.server.feed
    try await bench.desk.open()
    var updates = feed.updates.makeAsyncIterator()
    #expect(await updates.next()?.contains(#""rows":[]"#) == true)
    let draft = OrderDraft(
      customer: "Ada",
      cardToken: "t",
      lines: [OrderLine(sku: "MUG", quantity: 1)]
    )
    _ = try await bench.desk.submit(draft, key: "a")
    var last = ""
    while !last.contains(#""state":"confirmed""#) { last = await updates.next() ?? "" }
    #expect(last.contains(#""customer":"Ada""#))
  }

  @Test func `Data of an event can't end it or begin another`() {
    let event = ServerSentEvent(event: "a", data: "x\n\nevent: b\r\ndata: y\rz", id: "1")
    let lines = String(buffer: event.buffer).split(
      separator: "\n",
      omittingEmptySubsequences: false
    )
    #expect(
      lines == [
        "id: 1", "event: a", "data: x", "data: ", "data: event: b", "data: data: y", "data: z", "",
        "",
      ]
    )
  }

  @Test func `Data of an event is one line when its JSON is, whatever names are in it`() {
    let json = "{\"customer\":\"A\u{2028}B\u{85}C\"}"
    let text = String(buffer: ServerSentEvent(event: "a", data: json).buffer)
    #expect(text == "event: a\ndata: \(json)\n\n")
  }
}

extension Bench {
  /// Places an order and returns when it charges the card, with the path of the order.
  fileprivate func orderThatIsCharging(
    _ client: some TestClientProtocol
  ) async throws -> (link: String, id: OrderID) {
    let link = try #require(try await client.place().headers[.location])
    let id = OrderID(rawValue: String(link.dropFirst("/orders/".count)))
    let order = try #require(desk.operation(of: id))
    let charge = order.children.first { $0.name == "charge" }
    while charge?.isExecuting != true { await Task.yield() }
    return (link, id)
  }
}
