/// Arithmetic with numbers from outside: sizes, and moments of clocks and files, may have any value.
extension FixedWidthInteger where Self: SignedInteger {
    /// The sum, or the nearest representable number.
    package func adding(saturating other: Self) -> Self {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest representable number.
    package func subtracting(saturating other: Self) -> Self {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (other < 0 ? .max : .min) : difference
    }
}
