import HTTPRules
import HTTPTypes
import Hummingbird
import Logging
import OrderWorkflow
import ServiceSupport

/// Orders are placed, looked up and cancelled.
extension OrderServer {
  func addOrders(to router: Router<OrderContext>) {
    router.post("orders") { request, context in
      do {
        return try await self.place(request, context)
      } catch let error as RequestError {
        self.gauges.refused(error)
        throw error
      }
    }
    router.get("orders") { request, context in
      let orders = try await self.desk.orders(limit: 100)
      return try context.responseEncoder.encode(
        orders.map(OrderAnswer.init),
        from: request,
        context: context
      )
    }
    router.get("orders/:id") { _, context in OrderAnswer(try await self.order(context)) }
    router.delete("orders/:id") { try await self.cancel($0, $1) }
  }

  /// The order that the path of a request names.
  func order(_ context: OrderContext) async throws -> Order {
    let id = context.parameters.get("id") ?? ""
    do {
      if let order = try await desk.order(OrderID(rawValue: id)) { return order }
    } catch {
      throw unread(error)
    }
    throw RequestError.unknown(id)
  }

  /// Says that an order can't be read at the moment; the error is logged.
  private func unread(_ error: any Error) -> any Error {
    if error is CancellationError { return error }
    if let error = error as? OrderUnreadable { return RequestError(error) }
    logger.error("an order can't be read", metadata: ["error": "\(error)"])
    return RequestError.storeFails("The order can't be read at the moment; try again later.")
  }

  private func cancel(_ request: Request, _ context: OrderContext) async throws -> Response {
    let order = try await order(context)
    let isNoted: Bool
    do {
      isNoted = try await desk.requestCancel(
        of: order.id,
        because: "It was cancelled by an operator."
      )
    } catch {
      logger.error("a cancel can't be kept", metadata: ["error": "\(error)"])
      throw RequestError.storeFails("The cancel can't be kept at the moment; try again later.")
    }
    guard isNoted else {
      throw RequestError(.conflict, "not_open", "The order is over, or is being undone.")
    }
    return try answer(order, .accepted, request, context)
  }

  /// `POST /orders`: without `wait`, the answer comes when the order is kept.
  private func place(_ request: Request, _ context: OrderContext) async throws -> Response {
    guard let limit = try waitLimit(request) else {
      let (draft, key) = try await reading(request, request.body, context)
      let order = try await submit(draft, key: key)
      return try answer(order, nil, request, context)
    }
    // Everything is read in here, as it is here that the end of the connection is seen.
    var response = try await request.body.consumeWithCancellationOnInboundClose { body in
      let (draft, key) = try await self.reading(request, body, context)
      let order = try await self.submit(draft, key: key)
      return try self.answer(
        try await self.outcome(of: order, within: limit),
        nil,
        request,
        context
      )
    }
    // What looked for the end of the connection has read what comes after the request.
    response.closesConnection(context.channel, after: options.closeLimit)
    return response
  }

  /// Waits for an order, and cancels it if the client doesn't, and no other one does.
  private func outcome(of order: Order, within limit: Duration) async throws -> Order {
    clients.begin(order.id)
    do {
      let outcome = try await desk.outcome(of: order.id, within: limit)
      _ = clients.end(order.id)
      return outcome ?? order
    } catch {
      let isLast = clients.end(order.id)
      guard error is CancellationError else { throw unread(error) }
      // A server that is ended keeps the order; a client that has gone doesn't want it any more.
      if isLast, !desk.isDraining { await hungUp(order.id) }
      throw CancellationError()
    }
  }

  /// Cancels an order whose client has gone, in a task of its own, as that of the request is cancelled.
  private func hungUp(_ id: OrderID) async {
    let reason = "The client hung up while it waited for the outcome."
    let task = Task { [desk, logger] in
      do {
        _ = try await desk.requestCancel(of: id, because: reason)
      } catch {
        // An order that goes on here is cancelled all the same.
        if desk.cancel(id, because: reason) { return }
        logger.error("a hang-up can't be kept", metadata: ["order": "\(id)", "error": "\(error)"])
      }
    }
    await task.value
  }

  /// Submits an order to the end, also when the client has hung up: it is kept, or refused.
  private func submit(_ draft: OrderDraft, key: String) async throws -> Order {
    let task = Task { try await desk.submit(draft, key: key) }
    do {
      return try await task.value.order
    } catch let refusal as OrderRefusal {
      throw RequestError(refusal)
    } catch let error as OrderUnreadable {
      throw RequestError(error)
    } catch {
      // Nothing was kept, or the same key finds what was: the client is to come back.
      logger.error("an order can't be kept", metadata: ["error": "\(error)"])
      throw RequestError.storeFails("Orders can't be kept at the moment; try again later.")
    }
  }

  /// What a request says; all that is wrong with it is thrown at once.
  private func reading(
    _ request: Request,
    _ body: RequestBody,
    _ context: OrderContext
  ) async throws -> (OrderDraft, String) {
    var copy = request
    let content = try await bytes(of: body)
    copy.body = RequestBody(buffer: content)
    let reading: DraftReading
    do {
      // The reader of JSON takes other encodings as well.
      guard content.isUTF8 else { throw NotUTF8() }
      try StrictJSON.check(content.readableBytesView)
      reading = try await copy.decode(as: DraftReading.self, context: context)
    } catch StrictJSON.Flaw.repeated(let path) {
      throw RequestError([Mistake(field: path, message: "It is given twice in one object.")])
    } catch {
      let message = "The body isn't the JSON of an object with a few levels, in UTF-8."
      throw RequestError([Mistake(field: "", message: message)])
    }
    let keys = request.headers[values: .idempotencyKey]
    let key = keys.first ?? ""
    var mistakes = reading.mistakes
    // In ASCII: of other bytes the text of a header doesn't tell all apart.
    if keys.count != 1 || !(1...200).contains(key.utf8.count)
      || !key.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
    {
      let message = """
        It is needed once, with 1 to 200 characters of ASCII: the same for a repetition, else a new \
        one.
        """
      mistakes.insert(Mistake(field: "Idempotency-Key", message: message), at: 0)
    }
    // What can be read is looked at when it is submitted.
    if mistakes.isEmpty { return (reading.draft, key) }
    throw RequestError(reading.all(mistakes, items: try await desk.items()))
  }

  /// All of a body, which has to come in time.
  func bytes(of body: RequestBody) async throws -> ByteBuffer {
    let (limit, time) = (65_536, options.bodyLimit)
    do {
      return try await withThrowingTaskGroup { group in
        group.addTask { try await body.collect(upTo: limit) }
        group.addTask {
          try await Task.sleep(for: time)
          let message = "The body has not come within \(DurationText.text(time))."
          throw RequestError(.requestTimeout, "too_slow", message)
        }
        defer { group.cancelAll() }
        guard let bytes = try await group.next() else { throw CancellationError() }
        return bytes
      }
    } catch {
      throw RequestError.body(error, limit: limit)
    }
  }

  private func waitLimit(_ request: Request) throws -> Duration? {
    let texts = request.uri.queryParameters[values: "wait"]
    guard let text = texts.first else { return nil }
    let longest = options.longestWait
    guard texts.count == 1, let limit = DurationText.duration(of: text), limit <= longest else {
      let message =
        "“wait” is one duration, such as 5s or 500ms, of at most \(DurationText.text(longest))."
      throw RequestError([Mistake(field: "wait", message: message)])
    }
    return limit
  }

  /// The order, and its link; 200 when it is final, else 202.
  private func answer(
    _ order: Order,
    _ status: HTTPResponse.Status?,
    _ request: Request,
    _ context: OrderContext
  ) throws -> Response {
    var response = try OrderAnswer(order).response(from: request, context: context)
    response.status = status ?? (order.state.isFinal ? .ok : .accepted)
    response.headers[.location] = "/orders/\(order.id)"
    return response
  }
}

/// The body of a request has another encoding than UTF-8.
private struct NotUTF8: Error {}

extension ByteBuffer {
  /// Whether it is text in UTF-8; JSON has no zero bytes, and that of other encodings has.
  fileprivate var isUTF8: Bool {
    let bytes = readableBytesView
    return !bytes.contains(0) && String(validating: bytes, as: UTF8.self) != nil
  }
}
