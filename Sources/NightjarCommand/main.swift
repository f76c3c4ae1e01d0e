import Glibc

do throws(UsageError) {
    exit(Command(arguments: CommandLine.arguments).run(try Invocation(CommandLine.arguments)))
} catch {
    Console.complain(error.message)
    Console.write(Invocation.usage, to: .error)
    exit(2)
}
