package org.rdmapanama.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.rdmapanama.ffm.Program;

/**
 * The machine code for x86-64 that the second compiler makes of methods: a program uses them in a JVM of its own, which prints it.
 * The methods are those of the package of the program.
 */
public final class MachineCode {
    private final Class<?> program;
    private final Path folder;

    /**
     * @param program has the method {@code main}
     * @param folder for files
     */
    public MachineCode(Class<?> program, Path folder) {
        this.program = program;
        this.folder = folder;
    }

    /** Skips the test where there is no such compiler, or nothing to decode its code. */
    public static void assumeSecondCompiler() {
        String arch = System.getProperty("os.arch");
        assumeTrue(arch.equals("amd64"), "the direct path is for x86-64 only, not " + arch);
        String vm = ManagementFactory.getRuntimeMXBean().getVmName();
        assumeTrue(vm.contains("Server"), "this JVM has no second compiler: " + vm);
        assumeTrue(
                Files.isExecutable(Path.of("/usr/bin/objdump")),
                "no objdump (Debian: binutils) to decode instructions");
    }

    /**
     * Compiles a source file of the package with a change, and returns the folder of its classes.
     *
     * @param name of a file in {@code src/main/java}
     * @param part what is changed
     * @param replacement what takes its place
     */
    public Path mutated(String name, String part, String replacement) throws IOException {
        String source = Files.readString(sources().resolve(name));
        assertTrue(source.contains(part), () -> name + " has no '" + part + "' any more");
        Path changed = Files.writeString(folder.resolve(name), source.replace(part, replacement));
        int result = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-proc:none",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "-d",
                        folder.toString(),
                        changed.toString());
        assertEquals(0, result);
        return folder;
    }

    private Path sources() {
        return Path.of("src/main/java", program.getPackageName().split("[.]"));
    }

    /**
     * Runs the program, and returns the instructions that the second compiler made of each method.
     *
     * @param methods such as {@code Ring::post}
     * @param inlined the one of them that becomes a part of others, although they are looked at
     * @param classes folders of classes that replace others
     * @param arguments of the program
     */
    public Map<String, List<String>> of(List<String> methods, String inlined, List<String> classes, String... arguments)
            throws Exception {
        String prefix = program.getPackageName() + ".";
        List<String> path = new ArrayList<>(classes);
        path.add(System.getProperty("java.class.path"));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:-UsePerfData",
                "-XX:-TieredCompilation",
                "-XX:-BackgroundCompilation",
                "-XX:+UnlockDiagnosticVMOptions",
                "-XX:CompileCommand=quiet",
                // Of what else runs, machine code takes more time than it saves.
                "-XX:CompileCommand=compileonly," + prefix + "*::*",
                // What it calls must not become a part of it.
                "-XX:CompileCommand=exclude," + program.getName() + "::main"));
        for (String method : methods) {
            if (!method.equals(inlined)) {
                command.add("-XX:CompileCommand=dontinline," + prefix + method);
            }
            command.add("-XX:CompileCommand=print," + prefix + method);
        }
        command.addAll(List.of(
                "--enable-native-access=ALL-UNNAMED", "-cp", String.join(File.pathSeparator, path), program.getName()));
        command.addAll(List.of(arguments));
        String output = Program.run(command.toArray(String[]::new));
        Map<String, List<String>> instructions = new LinkedHashMap<>();
        for (String method : methods) {
            instructions.put(method, instructions(output, method));
        }
        return instructions;
    }

    /** Decodes the last machine code of a method that a JVM has printed. */
    private List<String> instructions(String output, String method) throws IOException {
        int title = output.lastIndexOf(" " + program.getPackageName() + "." + method + " (");
        int start = title < 0 ? -1 : output.indexOf("[MachCode]", title);
        assertTrue(start >= 0, () -> "the JVM printed no machine code of " + method + ": " + output);
        String code = output.substring(start, output.indexOf("[/MachCode]", start));
        StringBuilder digits = new StringBuilder();
        Matcher line =
                Pattern.compile("(?m)^ *0x[0-9a-f]+: ((?:[0-9a-f]+[ |]*)+)$").matcher(code);
        while (line.find()) {
            digits.append(line.group(1).replaceAll("[ |]", ""));
        }
        byte[] bytes = HexFormat.of().parseHex(digits);
        Path file = Files.write(folder.resolve("code"), bytes);
        String text = Program.run(
                "/usr/bin/objdump",
                "-D",
                "-w",
                "--no-show-raw-insn",
                "-b",
                "binary",
                "-m",
                "i386:x86-64",
                file.toString());
        List<String> instructions = text.lines()
                .filter(each -> each.matches(" +[0-9a-f]+:.*"))
                .map(each -> each.substring(each.indexOf(':') + 1).strip())
                .toList();
        assertFalse(instructions.isEmpty(), () -> "no instructions: " + code);
        return instructions;
    }

    /**
     * Says what is wrong with the order in which an entry of a ring is read: nothing is, if it is empty. A byte that says whose it
     * is must be read before anything else of it.
     *
     * @param ownerOffset where that byte is, in hexadecimal
     * @param nextOffset where eight bytes are that are read behind it, in hexadecimal; empty for the first ones
     */
    public static String faultOfPolling(List<String> instructions, String ownerOffset, String nextOffset) {
        Pattern owner = Pattern.compile("mov[sz]b. +" + ownerOffset + "\\(%(\\w+)\\),.*");
        int reads = 0;
        for (int i = 0; i < instructions.size(); i++) {
            Matcher matcher = owner.matcher(instructions.get(i));
            if (matcher.matches()) {
                String early = readBefore(instructions, i, matcher.group(1));
                if (early != null) {
                    return "read before the owner: " + early;
                }
                String end = "mov +" + nextOffset + "\\(%\\w+\\),.*";
                reads += next(instructions, i + 1, each -> each.matches(end)) < 0 ? 0 : 1;
            }
        }
        return reads == 0 ? "no entry is read behind its owner: " + instructions : "";
    }

    /** Returns an instruction that uses the address in a register before an instruction, or null. */
    private static String readBefore(List<String> instructions, int before, String register) {
        Set<String> addresses = new HashSet<>(Set.of(register));
        Pattern written = Pattern.compile("(\\w+) .*?(?:%(\\w+),)?%(\\w+)");
        for (int i = before - 1; i >= 0 && !addresses.isEmpty(); i--) {
            String each = instructions.get(i);
            if (addresses.stream().anyMatch(address -> each.matches("(?!lea).*\\(%" + address + "\\).*"))) {
                return each;
            }
            Matcher matcher = written.matcher(each);
            boolean changes = !each.matches("(test|cmp|push).*");
            if (changes && matcher.matches() && addresses.remove(matcher.group(3)) && each.matches("(mov|vmovq) .*")) {
                addresses.add(String.valueOf(matcher.group(2)));
            }
        }
        return null;
    }

    /** Returns the index of the next wanted instruction, or -1. */
    public static int next(List<String> instructions, int from, Predicate<? super String> wanted) {
        for (int i = from; i < instructions.size(); i++) {
            if (wanted.test(instructions.get(i))) {
                return i;
            }
        }
        return -1;
    }

    /** Whether an instruction is locked, and changes nothing. */
    public static boolean isLocked(String instruction) {
        return instruction.matches("lock (addl|xadd) .*");
    }

    /** Whether an instruction always leads elsewhere: a check that fails does so only if it does. */
    public static boolean leaves(String instruction) {
        return instruction.matches("(jmp|call|ret).*");
    }

    /** Whether an instruction stores to memory other than the stack. */
    public static boolean stores(String instruction) {
        return instruction.matches("v?mov\\w* +[%$]\\w+,[^%]*\\(.*") && !instruction.endsWith("(%rsp)");
    }
}
