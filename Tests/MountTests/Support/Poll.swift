import Foundation

/// Waits for something that another process does: the only place in the tests that sleeps.
///
/// Returns false when `seconds` have passed without `condition` holding; the number is a bound on a hang, never a figure.
func poll(upTo seconds: Double = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date(timeIntervalSinceNow: seconds)
    while try !condition() {
        if Date() > end { return false }
        Thread.sleep(forTimeInterval: 0.01)
    }
    return true
}
