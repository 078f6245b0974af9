package org.rdmapanama.testing;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/**
 * Writes methods that are all alike, for stand-ins of large abstract classes: a test has those that differ. A stand-in is a
 * class, not final, with one constructor; its methods that are called by written ones must not be private.
 */
public final class WrittenMethods {
    private static final String GUARD = "guard";
    private static final String GUARD_TYPE = "(Ljava/lang/String;)J";

    private final Class<?> standIn;
    private final ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_FRAMES);

    private WrittenMethods(Class<?> standIn) {
        this.standIn = standIn;
    }

    /**
     * Completes an abstract class of which a test needs a few methods: the others throw.
     *
     * @param lookup of the package of the class
     * @param unfinished an abstract class with a constructor that takes nothing
     */
    public static <T> T throwing(MethodHandles.Lookup lookup, Class<T> unfinished) {
        return new WrittenMethods(unfinished).make(lookup, unfinished, "$Throwing", written -> {
            for (Class<?> each = unfinished; !each.equals(Object.class); each = each.getSuperclass()) {
                for (Method method : each.getDeclaredMethods()) {
                    if (Modifier.isAbstract(method.getModifiers()) && !written.isImplemented(each, method)) {
                        written.writeThrowing(method);
                    }
                }
            }
        });
    }

    /**
     * Overrides the methods of a class that a stand-in leaves as they are: each asks {@code long guard(String)} of the
     * stand-in with its name, returns what that says unless it is 0, and goes on with the method of the superclass.
     *
     * @param lookup of the package of the stand-in
     * @param base whose public methods are overridden
     * @param guarded which of them; they must return int or long
     * @param arguments of the stand-in's constructor
     */
    public static <T> T guarded(
            MethodHandles.Lookup lookup,
            Class<T> standIn,
            Class<? super T> base,
            Predicate<Method> guarded,
            Object... arguments) {
        return new WrittenMethods(standIn)
                .make(
                        lookup,
                        standIn,
                        "$Guarded",
                        written -> {
                            for (Method method : written.leftBy(base)) {
                                if (guarded.test(method)) {
                                    written.writePassing(method, true, null);
                                }
                            }
                        },
                        arguments);
    }

    /**
     * Overrides as {@link #guarded} all methods of a class that a stand-in does not have, and goes on with the same method of
     * what {@code real()} of the stand-in returns. Those that are not guarded do so at once.
     */
    public static <T> T passing(
            MethodHandles.Lookup lookup,
            Class<T> standIn,
            Class<? super T> base,
            Predicate<Method> guarded,
            Object... arguments) {
        return new WrittenMethods(standIn)
                .make(
                        lookup,
                        standIn,
                        "$Passing",
                        written -> {
                            for (Method method : written.leftBy(base)) {
                                written.writePassing(method, guarded.test(method), base);
                            }
                        },
                        arguments);
    }

    /** The public methods of a class that the stand-in does not have itself. */
    private List<Method> leftBy(Class<?> base) {
        return Arrays.stream(base.getDeclaredMethods())
                .filter(method -> isOpen(method) && !declares(standIn, method))
                .toList();
    }

    private static boolean isOpen(Method method) {
        int modifiers = method.getModifiers();
        return Modifier.isPublic(modifiers) && !Modifier.isStatic(modifiers) && !Modifier.isFinal(modifiers);
    }

    private static boolean declares(Class<?> type, Method method) {
        return Arrays.stream(type.getDeclaredMethods())
                .anyMatch(known -> known.getName().equals(method.getName())
                        && Arrays.equals(known.getParameterTypes(), method.getParameterTypes()));
    }

    private boolean isImplemented(Class<?> until, Method method) {
        for (Class<?> each = standIn; !each.equals(until); each = each.getSuperclass()) {
            if (declares(each, method)) {
                return true;
            }
        }
        return false;
    }

    private interface Body {
        void write(WrittenMethods written);
    }

    private <T> T make(MethodHandles.Lookup lookup, Class<T> type, String suffix, Body body, Object... arguments) {
        try {
            Class<?> complete;
            try {
                complete = lookup.findClass(type.getName() + suffix);
            } catch (ClassNotFoundException notYet) {
                complete = lookup.defineClass(bytes(suffix, body));
            }
            Constructor<?> constructor = complete.getDeclaredConstructors()[0];
            MethodHandle making = lookup.unreflectConstructor(constructor);
            return type.cast(making.invokeWithArguments(arguments));
        } catch (Throwable e) {
            throw new AssertionError(e);
        }
    }

    private byte[] bytes(String suffix, Body body) {
        String parent = Type.getInternalName(standIn);
        writer.visit(Opcodes.V17, Opcodes.ACC_FINAL, parent + suffix, null, parent, null);
        String descriptor = Type.getConstructorDescriptor(standIn.getDeclaredConstructors()[0]);
        MethodVisitor code = writer.visitMethod(0, "<init>", descriptor, null, null);
        code.visitCode();
        code.visitVarInsn(Opcodes.ALOAD, 0);
        loadArguments(code, descriptor);
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, parent, "<init>", descriptor, false);
        code.visitInsn(Opcodes.RETURN);
        code.visitMaxs(0, 0);
        body.write(this);
        return writer.toByteArray();
    }

    private static void loadArguments(MethodVisitor code, String descriptor) {
        int local = 1;
        for (Type argument : Type.getArgumentTypes(descriptor)) {
            code.visitVarInsn(argument.getOpcode(Opcodes.ILOAD), local);
            local += argument.getSize();
        }
    }

    private void writeThrowing(Method method) {
        String exception = Type.getInternalName(UnsupportedOperationException.class);
        MethodVisitor code =
                writer.visitMethod(Opcodes.ACC_PUBLIC, method.getName(), Type.getMethodDescriptor(method), null, null);
        code.visitCode();
        code.visitTypeInsn(Opcodes.NEW, exception);
        code.visitInsn(Opcodes.DUP);
        code.visitLdcInsn(method.toString());
        code.visitMethodInsn(Opcodes.INVOKESPECIAL, exception, "<init>", "(Ljava/lang/String;)V", false);
        code.visitInsn(Opcodes.ATHROW);
        code.visitMaxs(0, 0);
    }

    /** Goes on with the superclass, or, if a class is named, with the method that it has of what is real. */
    private void writePassing(Method method, boolean isGuarded, Class<?> real) {
        String self = Type.getInternalName(standIn);
        String descriptor = Type.getMethodDescriptor(method);
        Type result = Type.getReturnType(method);
        MethodVisitor code = writer.visitMethod(Opcodes.ACC_PUBLIC, method.getName(), descriptor, null, null);
        code.visitCode();
        if (isGuarded) {
            Label goOn = new Label();
            code.visitVarInsn(Opcodes.ALOAD, 0);
            code.visitLdcInsn(method.getName());
            code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, self, GUARD, GUARD_TYPE, false);
            code.visitInsn(Opcodes.DUP2);
            code.visitInsn(Opcodes.LCONST_0);
            code.visitInsn(Opcodes.LCMP);
            code.visitJumpInsn(Opcodes.IFEQ, goOn);
            if (result.equals(Type.INT_TYPE)) {
                code.visitInsn(Opcodes.L2I);
            }
            code.visitInsn(result.getOpcode(Opcodes.IRETURN));
            code.visitLabel(goOn);
            code.visitInsn(Opcodes.POP2);
        }
        code.visitVarInsn(Opcodes.ALOAD, 0);
        if (real == null) {
            loadArguments(code, descriptor);
            code.visitMethodInsn(Opcodes.INVOKESPECIAL, self, method.getName(), descriptor, false);
        } else {
            String type = Type.getInternalName(real);
            code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, self, "real", "()L" + type + ";", false);
            loadArguments(code, descriptor);
            code.visitMethodInsn(Opcodes.INVOKEVIRTUAL, type, method.getName(), descriptor, false);
        }
        code.visitInsn(result.getOpcode(Opcodes.IRETURN));
        code.visitMaxs(0, 0);
    }
}
