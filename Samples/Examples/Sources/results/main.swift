// Pass typed values from one operation to the next, and to async code.
//
//     swift run --package-path Samples/Examples results
//
// Prints:
//  Valdivia is the strongest of 3, and 210 km from the nearest station

import AdvancedOperations

struct Earthquake {
  let place: String
  let magnitude: Double
}

let download = ResultOperation(name: "download") {
  "Valdivia 9.5\nAnchorage 9.2\nKamchatka 9.0"
}

// The closure gets the value of `download`. The compiler knows that it is a `String`, and that
// `parse` produces an array. `then` also makes `parse` depend on `download`.
let parse = download.then(name: "parse") { text in
  text.split(separator: "\n").compactMap { line -> Earthquake? in
    let words = line.split(separator: " ")
    guard words.count == 2, let magnitude = Double(words[1]) else { return nil }
    return Earthquake(place: String(words[0]), magnitude: magnitude)
  }
}

let stations = ResultOperation(name: "stations") { ["Valdivia": 210, "Anchorage": 35] }

// Runs when both values are there. If one of its inputs fails, it fails as well, without running,
// and its failure names the cause.
let report = ResultOperation(name: "report", after: parse, stations) { earthquakes, distances in
  guard let strongest = earthquakes.max(by: { $0.magnitude < $1.magnitude }) else {
    // There is nothing to do, which isn't an error of the operation.
    throw OperationSkipped(reason: "no earthquakes")
  }
  let distance = distances[strongest.place].map { "\($0) km" } ?? "far"
  return "\(strongest.place) is the strongest of \(earthquakes.count), "
    + "and \(distance) from the nearest station"
}

let queue = AdvancedOperationQueue()
do {
  // Adds the operation, and all operations that it needs, and waits for the value.
  print(try await queue.run(report))
} catch let failure as OperationFailure {
  print("no report: \(failure)")
}
