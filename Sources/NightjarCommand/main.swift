import CCommand
import Glibc

njc_hold_standard_streams()
do throws(UsageError) {
    let arguments = Console.arguments
    exit(Command(arguments: arguments).run(try Invocation(arguments)))
} catch {
    Console.complain(error.message)
    Console.write(Invocation.usage, to: .error)
    exit(2)
}
