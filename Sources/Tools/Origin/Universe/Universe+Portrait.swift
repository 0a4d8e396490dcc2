import Rankings

extension Universe {
    /// The moment at which an author last changed the portrait; nil for one who never set any.
    func portraitTime(of user: UserID) -> JapanTime? {
        var chance = Chance(seed, 0x13, UInt64(bitPattern: user.rawValue))
        let day = chance.below(Self.portraitDays)
        let second = chance.below(86_400)
        guard !chance.oneIn(Self.portraitlessEvery), user.rawValue != Self.portraitless else { return nil }
        return JapanTime(Self.firstDay.advanced(by: day), secondOfDay: second)
    }

    /// The address of an author's portrait, 50 or 170 pixels wide.
    func portrait(of user: UserID, side: Int) -> String {
        guard let time = portraitTime(of: user) else {
            return "https://s.pximg.net/common/images/no_profile\(side == 50 ? "_s" : "").png"
        }
        var chance = Chance(seed, 0x13, UInt64(bitPattern: user.rawValue), 1)
        let name = "\(user.rawValue)_\(Self.hexDigits(&chance))_\(side).jpg"
        return "https://i.pximg.net/user-profile/img/\(time.path)/\(name)"
    }

    /// The pixels that portraits are offered in.
    static let portraitSides = [50, 170]

    /// To the end of 2022.
    private static let portraitDays = 5500
    private static let portraitlessEvery = 12
    /// The author without works has no portrait either.
    private static let portraitless: Int64 = 1003
}
