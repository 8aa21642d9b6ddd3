/// Which step needs which, by their numbers in the file.
package struct StepGraph {
  /// The numbers of the steps that each one needs.
  package let needs: [[Int]]

  /// Creates a graph.
  package init(needs: [[Int]]) { self.needs = needs }

  /// The sets of steps that need each other through others, and single steps; each set stands
  /// after all that its steps need.
  ///
  /// Tarjan's algorithm (1972) with a stack of its own, because a chain may have 10,000 steps.
  ///
  /// - Complexity: Linear in steps and needs.
  package func components() -> [[Int]] {
    var components: [[Int]] = []
    var order = Array(repeating: 0, count: needs.count)
    var lowest = order
    var isOnStack = Array(repeating: false, count: needs.count)
    var stack: [Int] = []
    var counter = 0
    for root in needs.indices where order[root] == 0 {
      var calls = [(step: root, next: 0)]
      while let (step, next) = calls.last {
        if next == 0 {
          counter += 1
          order[step] = counter
          lowest[step] = counter
          stack.append(step)
          isOnStack[step] = true
        }
        if next < needs[step].count {
          calls[calls.count - 1].next += 1
          let need = needs[step][next]
          if order[need] == 0 {
            calls.append((need, 0))
          } else if isOnStack[need] {
            lowest[step] = min(lowest[step], order[need])
          }
          continue
        }
        calls.removeLast()
        if let caller = calls.last?.step { lowest[caller] = min(lowest[caller], lowest[step]) }
        guard lowest[step] == order[step] else { continue }
        var component: [Int] = []
        repeat {
          let member = stack.removeLast()
          isOnStack[member] = false
          component.append(member)
        } while component.last != step
        components.append(component)
      }
    }
    return components
  }

  /// The shortest way from a step back to itself; nil if there is none.
  ///
  /// - Parameters:
  ///   - start: The step.
  ///   - component: The steps that the way can go through.
  /// - Returns: The steps on it, the first one at both ends.
  package func cycle(from start: Int, in component: Set<Int>) -> [Int]? {
    var cameFrom: [Int: Int] = [:]
    var queue = [start]
    var index = 0
    while index < queue.count {
      let step = queue[index]
      index += 1
      for need in needs[step] where component.contains(need) {
        if need == start {
          var path = [start]
          var current = step
          while current != start {
            path.append(current)
            current = cameFrom[current] ?? start
          }
          path.append(start)
          return path.reversed()
        }
        if cameFrom[need] == nil {
          cameFrom[need] = step
          queue.append(need)
        }
      }
    }
    return nil
  }

  /// Which of some pairs of steps are such that the first one needs the second, through others too.
  ///
  /// - Complexity: Steps and needs, times a 64th of the number of different second steps.
  func reaches(_ pairs: [(from: Int, to: Int)], components: [[Int]]) -> [Bool] {
    var result = Array(repeating: false, count: pairs.count)
    let targets = Array(Set(pairs.map(\.to)))
    var batch = targets[...]
    while !batch.isEmpty {
      var bits = Array(repeating: UInt64(0), count: needs.count)
      for (index, target) in batch.prefix(64).enumerated() { bits[target] = 1 << UInt64(index) }
      batch = batch.dropFirst(64)
      var masks = Array(repeating: UInt64(0), count: needs.count)
      for component in components {
        var mask: UInt64 = 0
        for step in component {
          for need in needs[step] { mask |= masks[need] | bits[need] }
        }
        for step in component { masks[step] = mask }
      }
      for (index, pair) in pairs.enumerated() where masks[pair.from] & bits[pair.to] != 0 {
        result[index] = true
      }
    }
    return result
  }
}
