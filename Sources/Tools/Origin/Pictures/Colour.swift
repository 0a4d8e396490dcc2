/// A colour of the HSV kind, which is easy to choose harmoniously.
struct Colour: Sendable {
    var hue: Double
    var saturation: Double
    var value: Double
    var alpha: Double = 1

    /// Red, green and blue from 0 to 1.
    var rgb: (Double, Double, Double) {
        let turned = (hue - hue.rounded(.down)) * 6
        let sector = Int(turned)
        let fraction = turned - Double(sector)
        let low = value * (1 - saturation)
        let falling = value * (1 - saturation * fraction)
        let rising = value * (1 - saturation * (1 - fraction))
        switch sector {
        case 0: return (value, rising, low)
        case 1: return (falling, value, low)
        case 2: return (low, value, rising)
        case 3: return (low, falling, value)
        case 4: return (rising, low, value)
        default: return (value, low, falling)
        }
    }

    /// The colour moved; saturation and value stay within 0 and 1.
    func moved(hue: Double = 0, saturation: Double = 0, value: Double = 0, alpha: Double? = nil) -> Colour {
        Colour(
            hue: self.hue + hue, saturation: min(max(self.saturation + saturation, 0), 1),
            value: min(max(self.value + value, 0), 1), alpha: alpha ?? self.alpha)
    }
}
