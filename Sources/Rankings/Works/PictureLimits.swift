/// What a picture can be at most, whoever tells its length.
package enum PictureLimits {
    /// The largest picture that is believed in, in bytes.
    ///
    /// The service takes uploads of 32 MB; archives of animations and pictures of other hosts may have some times that. A host
    /// that tells more is mistaken or hostile, and nothing must be thrown away to make room for what it tells.
    package static let largest: Int64 = 256 << 20
}
