import CoreOperations
import Testing

@Suite struct `The first cycle on a way` {
  @Test func `the first cycle follows the first wait of each node`() {
    let next = [[1], [2, 0], [3, 1], [1], [4]]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == [1, 2, 3, 1])
    #expect(StrongComponents.firstCycle(from: 4) { next[$0] } == [4, 4])
  }

  @Test func `the cycle search backtracks where a path ends`() {
    let next = [[1, 2], [], [3], [0]]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == [0, 2, 3, 0])
  }

  @Test func `the cycle search finds nothing if all paths end`() {
    let next = [[1, 2], [3], [3], []]
    #expect(StrongComponents.firstCycle(from: 0) { next[$0] } == nil)
  }
}
