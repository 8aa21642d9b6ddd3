import CoreOperations
import Testing

@Suite struct `The first cycle on a way` {
  @Test func `is that of the first wait of each`() {
    let next = [[1], [2, 0], [3, 1], [1], [4]]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == [1, 2, 3, 1])
    #expect(StrongComponents.firstCycle(from: 4) { next[$0] } == [4, 4])
  }

  @Test func `is looked for by the next wait where a way ends`() {
    let next = [[1, 2], [], [3], [0]]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == [0, 2, 3, 0])
  }

  @Test func `isn't there when all ways end, also where they meet`() {
    let next = [[1, 2], [3], [3], []]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == nil)
  }
}
