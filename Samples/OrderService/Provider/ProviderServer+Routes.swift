import HTTPTypes
import Hummingbird
import NIOCore
import ServiceSupport

extension ProviderServer {
  func router() -> Router<ProviderContext> {
    let router = Router(context: ProviderContext.self)
    router.post("charges") { try await self.charge($0, $1) }
    router.get("charges/:key") { try await self.lookUp($0, $1) }
    router.post("refunds") { try await self.refund($0, $1) }
    router.get("ledger") { request, context in
      try answer(await self.ledger.entries, .ok, request, context)
    }
    router.get("mood") { try answer(self.mood, .ok, $0, $1) }
    router.post("mood") { try await self.change($0, $1) }
    return router
  }

  private func change(_ request: Request, _ context: ProviderContext) async throws -> Response {
    let reading = try await decode(request, context) as Mood.Reading
    guard reading.mistakes.isEmpty else { throw mistaken(reading.mistakes) }
    mood = reading.mood
    return try answer(reading.mood, .ok, request, context)
  }

  private func charge(_ request: Request, _ context: ProviderContext) async throws -> Response {
    let (fault, delay) = next(canLie: true)
    try refuse(fault)
    let wanted = try await decode(request, context) as ChargeRequest
    var mistakes = wanted.mistakes
    let key = request.headers[.idempotencyKey] ?? ""
    if key.isEmpty { mistakes.insert("the header “Idempotency-Key” is missing", at: 0) }
    guard mistakes.isEmpty else { throw mistaken(mistakes) }
    switch await ledger.begin(key, wanted) {
    case .process: break
    case .answer(let charge):
      await wait(delay)
      return try await finish(charge, isNew: false, fault, request, context)
    case .inProgress:
      throw ProviderError(.conflict, "in_progress", "A request with this key is being processed.")
    case .mismatch:
      throw ProviderError(
        .unprocessableContent,
        "key_reused",
        "The key was used for another charge."
      )
    }
    await wait(delay / 2)
    if fault == .fails {
      await ledger.forget(key)
      await wait(delay / 2)
      throw failed
    }
    let charge = try await written {
      try await ledger.finish(key, declining: reason(for: wanted.card))
    }
    await wait(delay / 2)
    guard let charge else { throw failed }
    return try await finish(charge, isNew: true, fault, request, context)
  }

  private func lookUp(_ request: Request, _ context: ProviderContext) async throws -> Response {
    let (fault, delay) = next(canLie: false)
    try refuse(fault)
    await wait(delay)
    if fault == .fails { throw failed }
    guard let charge = await ledger.charge(context.parameters.get("key") ?? "") else {
      throw ProviderError(.notFound, "unknown", "There is no charge of this key.")
    }
    return try await finish(charge, isNew: false, fault, request, context, isReading: true)
  }

  private func refund(_ request: Request, _ context: ProviderContext) async throws -> Response {
    let (fault, delay) = next(canLie: true)
    try refuse(fault)
    let wanted = try await decode(request, context) as RefundRequest
    guard !wanted.charge.isEmpty else { throw mistaken(["“charge” is missing"]) }
    await wait(delay / 2)
    if fault == .fails { throw failed }
    let charge = try await written { try await ledger.refund(wanted.charge) }
    await wait(delay / 2)
    return try await finish(charge, isNew: true, fault, request, context, isReading: true)
  }

  /// Answers with what became of a charge, or doesn't.
  private func finish(
    _ charge: Charge,
    isNew: Bool,
    _ fault: Fault,
    _ request: Request,
    _ context: ProviderContext,
    isReading: Bool = false
  ) async throws -> Response {
    switch fault {
    case .losesAnswer:
      try? await context.channel.close()
      throw failed
    case .lies:
      // A card that was charged may be said to be declined: the worse lie, as it sounds final.
      let soundsFinal = charge.status == .charged && charge.key.utf8.reduce(0, ^) & 1 == 0
      throw soundsFinal
        ? ProviderError(402, "declined", "The card was declined.") : failed
    case .none, .fails, .isDown, .tooMany: break
    }
    if isReading { return try answer(charge, .ok, request, context) }
    switch charge.status {
    case .declined:
      throw ProviderError(402, charge.reason ?? "declined", "The card was declined.")
    case .voided:
      throw ProviderError(.conflict, "voided", "The charge was refunded before it came.")
    case .pending, .charged, .refunded:
      return try answer(charge, isNew ? .created : .ok, request, context)
    }
  }

  private func refuse(_ fault: Fault) throws {
    switch fault {
    case .isDown:
      throw ProviderError(.serviceUnavailable, "down", "The provider is down.", retryAfter: 5)
    case .tooMany:
      throw ProviderError(.tooManyRequests, "too_many", "Too many requests.", retryAfter: 1)
    case .none, .fails, .lies, .losesAnswer: return
    }
  }

  /// What doesn't stand in the ledger has not happened, and can be asked for again.
  private func written<Value>(_ change: () async throws -> Value) async throws -> Value {
    do {
      return try await change()
    } catch let error as LedgerNotWritten {
      throw ProviderError(
        .serviceUnavailable,
        "ledger",
        "Nothing was changed, as the ledger can't be written: \(error.reason).",
        retryAfter: 5
      )
    }
  }

  private func decode<Value: Decodable & Sendable>(
    _ request: Request,
    _ context: ProviderContext
  ) async throws -> Value {
    var copy = request
    do {
      let content = try await request.body.collect(upTo: context.maxUploadSize)
      try StrictJSON.check(content.readableBytesView)
      copy.body = RequestBody(buffer: content)
      return try await copy.decode(as: Value.self, context: context)
    } catch StrictJSON.Flaw.repeated(let path) {
      throw mistaken(["“\(path)” is given twice in one object"])
    } catch {
      throw mistaken(["the body isn't the JSON of this request"])
    }
  }

  private func mistaken(_ mistakes: [String]) -> ProviderError {
    ProviderError(.badRequest, "mistakes", "The request can't be understood.", mistakes: mistakes)
  }

  private var failed: ProviderError {
    ProviderError(.internalServerError, "failed", "The request failed.")
  }

  /// Cards that are for tests are declined; all others are good.
  private func reason(for card: String) -> String? {
    switch card {
    case "tok_declined": "card_declined"
    case "tok_insufficient": "insufficient_funds"
    default: nil
    }
  }
}

private func answer(
  _ value: some Encodable,
  _ status: HTTPResponse.Status,
  _ request: Request,
  _ context: ProviderContext
) throws -> Response {
  var response = try context.responseEncoder.encode(value, from: request, context: context)
  response.status = status
  return response
}
