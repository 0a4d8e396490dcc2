extension Int64 {
    /// The whole part of a number, or the nearest number that there is; 0 for what is none.
    ///
    /// A quotient of figures from outside, or by a time that has hardly begun, may be larger than any whole number.
    init(saturating number: Double) {
        self = number.isNaN ? 0 : Int64(exactly: number.rounded(.towardZero)) ?? (number < 0 ? .min : .max)
    }
}

extension Int64 {
    /// The sum, or the nearest number that there is: sizes that a mount shows may be anything.
    func adding(saturating other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
