import Glibc
import Render

extension Renderer.Configuration {
    /// `rankfs-render` as it is installed with this program, in as many processes as there are processors.
    static var standard: Renderer.Configuration {
        Renderer.Configuration(
            program: { () throws(MediaError) in
                do throws(ProgramError) { return try CompanionProgram.path(of: Renderer.program) } catch {
                    throw .unavailable(error.message)
                }
            }, atOnce: sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    }
}
