/// Which of the two pairs of links of a member a list goes by.
protocol MemberLinkage {
  static subscript(member: Member) -> MemberLinks { get set }
}

/// The line that a member stands in; it is in one at a time.
enum LineLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.lineLinks }
    @inline(__always) set { member.fields.lineLinks = newValue }
  }
}

/// All members of the queue.
enum QueueLinkage: MemberLinkage {
  static subscript(member: Member) -> MemberLinks {
    @inline(__always) get { member.fields.queueLinks }
    @inline(__always) set { member.fields.queueLinks = newValue }
  }
}

/// A list that needs no memory of its own, and from the middle of which a member is taken in O(1):
/// the links are in the members.
///
/// It retains nothing.
struct LinkedMembers<Linkage: MemberLinkage> {
  private(set) var first: Member?
  private(set) var last: Member?

  var isEmpty: Bool { first == nil }

  mutating func append(_ member: Member) {
    Linkage[member] = MemberLinks(next: nil, previous: last)
    if let last { Linkage[last].next = member } else { first = member }
    last = member
  }

  mutating func remove(_ member: Member) {
    let links = Linkage[member]
    if let next = links.next {
      Linkage[next].previous = links.previous
    } else {
      last = links.previous
    }
    if let previous = links.previous {
      Linkage[previous].next = links.next
    } else {
      first = links.next
    }
    Linkage[member] = MemberLinks()
  }

  /// The first members that fit, up to a number; from the end, if so wanted.
  func few(
    _ wanted: Int = .max,
    fromEnd: Bool = false,
    where fits: (Member) -> Bool = { _ in true }
  ) -> [Member] {
    var members: [Member] = []
    var next = fromEnd ? last : first
    while members.count < wanted, let member = next {
      if fits(member) { members.append(member) }
      next = fromEnd ? Linkage[member].previous : Linkage[member].next
    }
    return members
  }
}

/// A line of a queue.
typealias MemberLine = LinkedMembers<LineLinkage>

/// All operations of a queue in the order of adding; retains each.
package struct QueueMembers {
  private var list = LinkedMembers<QueueLinkage>()
  package private(set) var count = 0
  private var lastNumber: UInt32

  /// - Parameter lastNumber: Other than 0 in tests, which can't add four billion operations.
  init(lastNumber: UInt32 = 0) { self.lastNumber = lastNumber }

  mutating func append(_ member: Member) {
    if lastNumber == .max { renumber() }
    lastNumber += 1
    member.fields.number = lastNumber
    member.fields.isMember = true
    list.append(member.retained())
    count += 1
  }

  /// Gives the members new numbers in the same order, because the last one was given out.
  ///
  /// Lines that are sorted by the numbers stay sorted.
  private mutating func renumber() {
    lastNumber = 0
    for member in list.few() {
      lastNumber += 1
      member.fields.number = lastNumber
    }
  }

  /// Takes a member out; the list's reference is the caller's, to be ``Member/released()``
  /// unlocked.
  mutating func remove(_ member: Member) {
    list.remove(member)
    member.fields.isMember = false
    count -= 1
  }

  package var operations: [Operation] { list.few().map(\.operation) }

  /// The first few that fit, in the order of adding.
  func first(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, where: fits).map(\.operation)
  }

  /// The last few that fit, the last one first.
  func last(_ wanted: Int, where fits: (Member) -> Bool) -> [Operation] {
    list.few(wanted, fromEnd: true, where: fits).map(\.operation)
  }
}
