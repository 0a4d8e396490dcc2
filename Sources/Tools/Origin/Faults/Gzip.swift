import CZlib

/// Compression that nobody asked for.
enum Gzip {
    /// The bytes in gzip format; empty only without memory.
    static func compress(_ bytes: [UInt8]) -> [UInt8] {
        var stream = unsafe z_stream()
        guard unsafe rankfs_gzip_init(&stream) == Z_OK else { return [] }
        defer { unsafe deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: unsafe Int(deflateBound(&stream, UInt(bytes.count))) + 64)
        let left = unsafe input.withUnsafeMutableBufferPointer { input -> Int in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe stream.next_in = input.baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                unsafe deflate(&stream, Z_FINISH)
                return unsafe Int(stream.avail_out)
            }
        }
        return Array(output.dropLast(left))
    }
}
