public import WorkflowDocument

/// What tells one workflow from another: 64 bits of all that a file says, without its line numbers.
///
/// A comment, or steps in another order, don't change it. It is against accidents, not against
/// people.
public enum WorkflowFingerprint {
  /// The fingerprint of a workflow.
  public static func text(of workflow: Workflow) -> String {
    var rest = workflow
    rest.steps = []
    var sum = ValueDigest.bits(of: rest)
    for var step in workflow.steps {
      step.line = 0
      // In the order of the file, which says nothing.
      step.needs.sort()
      step.rates.sort { ($0.key, $0.count) < ($1.key, $1.count) }
      // All of them have to hold.
      step.when.sort { ValueDigest.bits(of: $0) < ValueDigest.bits(of: $1) }
      step.require.sort { ValueDigest.bits(of: $0) < ValueDigest.bits(of: $1) }
      sum &+= ValueDigest.bits(of: step)
    }
    let digits = String(sum, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// 64 bits of a value, the same in each process: what it encodes is added up by key or position, so
/// dictionaries may come in any order.
///
/// The text of a `JSONEncoder` with sorted keys would do as well; it takes ten times as long, in
/// which no step runs yet.
private final class ValueDigest: Encoder {
  let codingPath: [any CodingKey] = []
  let userInfo: [CodingUserInfoKey: Any] = [:]
  private var sum: UInt64 = 0
  private var count = 0
  /// What is encoded into them isn't known before the end.
  private var nested: [(place: UInt64, digest: ValueDigest)] = []

  static func bits(of value: some Encodable) -> UInt64 {
    switch value {
    case let text as String:
      // FNV-1a.
      return text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    case let number as any FixedWidthInteger: return UInt64(truncatingIfNeeded: number)
    case let number as Double: return number.bitPattern
    case let number as Float: return UInt64(number.bitPattern)
    case let flag as Bool: return flag ? 1 : 0
    default:
      let digest = ValueDigest()
      // No value of a workflow throws, nor does what it is encoded into.
      try? value.encode(to: digest)
      return digest.bits
    }
  }

  private var bits: UInt64 {
    Self.mixed(nested.reduce(sum) { $0 &+ Self.mixed($1.place &+ $1.digest.bits) })
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(Keyed(digest: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { Ordered(digest: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer { Ordered(digest: self) }

  private func add(_ bits: UInt64, at place: UInt64) { sum &+= Self.mixed(place &+ bits) }

  private func addNested(at place: UInt64) -> ValueDigest {
    let digest = ValueDigest()
    nested.append((place, digest))
    return digest
  }

  private func nextPlace() -> UInt64 {
    count += 1
    return Self.mixed(UInt64(count))
  }

  /// The finalizer of SplitMix64: each bit depends on all.
  private static func mixed(_ bits: UInt64) -> UInt64 {
    var bits = bits &+ 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }

  // MARK: What values are encoded into

  private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let digest: ValueDigest
    var codingPath: [any CodingKey] { [] }

    private func place(of key: some CodingKey) -> UInt64 { mixed(bits(of: key.stringValue)) }

    func encodeNil(forKey key: Key) { digest.add(0, at: place(of: key)) }
    func encode(_ value: some Encodable, forKey key: Key) {
      digest.add(bits(of: value), at: place(of: key))
    }
    func nestedContainer<Inner: CodingKey>(
      keyedBy type: Inner.Type,
      forKey key: Key
    ) -> KeyedEncodingContainer<Inner> {
      digest.addNested(at: place(of: key)).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
      digest.addNested(at: place(of: key)).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { digest.addNested(at: digest.nextPlace()) }
    func superEncoder(forKey key: Key) -> any Encoder { digest.addNested(at: place(of: key)) }
  }

  private struct Ordered: UnkeyedEncodingContainer, SingleValueEncodingContainer {
    let digest: ValueDigest
    var codingPath: [any CodingKey] { [] }
    var count: Int { digest.count }

    func encodeNil() { digest.add(0, at: digest.nextPlace()) }
    func encode(_ value: some Encodable) { digest.add(bits(of: value), at: digest.nextPlace()) }
    func nestedContainer<Inner: CodingKey>(
      keyedBy type: Inner.Type
    ) -> KeyedEncodingContainer<Inner> {
      digest.addNested(at: digest.nextPlace()).container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
      digest.addNested(at: digest.nextPlace()).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { digest.addNested(at: digest.nextPlace()) }
  }
}
