// Replaces addresses in constants by numbers.
//
// The problem: the kernel does not fill addresses into a program's constants, and BPF has no calls through pointers. So
// `const char *names[] = {"a", "b"}` or a table of functions would not work.
//
// The idea:
//
//   a function's address   becomes a number, from first_function on. A call is a `switch` over all numbered functions.
//   a constant's address   becomes an offset in the pool. The pool is one object with all constants that addresses
//                          point to.
//
// A table itself stays outside of the pool, so that an index is checked against the table's own size. NULL is 0, so the
// pool has nothing at offset 0. A load of an address becomes a load of a number, which is then converted to a pointer
// into the pool.
#include "codegen/c/address_tables.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "codegen/c/constants.h"
#include "codegen/c/helpers.h"

namespace sonde {
namespace {

constexpr uint64_t first_function = uint64_t{1} << 48; // larger than any offset in a pool
constexpr uint64_t nowhere = uint64_t{1} << 40;        // NULL, for reads through the pointer
constexpr const char* function_mark = "sonde_mark_function";

// Follows the address through additions, choices and phis to all its uses. A use that may write, or that stores the
// address elsewhere, makes the answer "no".
bool is_only_read(llvm::Value& value, llvm::SmallPtrSetImpl<llvm::Value*>& seen) {
    if (!seen.insert(&value).second)
        return true;
    return llvm::all_of(value.uses(), [&](const llvm::Use& use) {
        llvm::User* user = use.getUser();
        if (llvm::isa<llvm::LoadInst>(user) || llvm::isa<llvm::ICmpInst>(user) ||
            llvm::isa<llvm::PtrToIntOperator>(user))
            return true;
        if (llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::PHINode>(user) || llvm::isa<llvm::SelectInst>(user))
            return is_only_read(*user, seen);
        if (const auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(user))
            return &use == &copy->getRawSourceUse();
        auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        if (!call || !call->isArgOperand(&use))
            return false;
        if (const auto* known = llvm::dyn_cast<llvm::IntrinsicInst>(call))
            return known->isLifetimeStartOrEnd() || known->getIntrinsicID() == llvm::Intrinsic::objectsize;
        if (const std::optional<uint64_t> helper = helper_number(*call))
            return llvm::none_of(helper_memory(*helper), [&](const HelperMemory& memory) {
                return memory.is_written && memory.pointer == call->getArgOperandNo(&use);
            });
        return call->getCalledFunction() && call->getCalledFunction()->getName().starts_with("sonde_mark_");
    });
}

// All functions whose address is used for something else than a call.
std::vector<llvm::Function*> functions_with_addresses(llvm::Module& module) {
    std::vector<llvm::Function*> out;
    for (llvm::Function& function : module)
        if (!function.isDeclaration() && function.hasAddressTaken())
            out.push_back(&function);
    return out;
}

bool is_through_pointer(const llvm::CallBase& call) {
    return !call.isInlineAsm() && !call.getCalledFunction() && !llvm::isa<llvm::Constant>(call.getCalledOperand());
}

using Numbers = std::map<llvm::Function*, llvm::ConstantInt*>;

// Replaces a call through a pointer by a `switch` on the function's number.
void choose(llvm::CallBase& call, const Numbers& numbers) {
    llvm::Module& module = *call.getModule();
    llvm::BasicBlock* before = call.getParent();
    llvm::BasicBlock* after = llvm::SplitBlock(before, call.getNextNode());
    llvm::IRBuilder<> ir(&call);
    auto* number = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getPtrTy()}, false);
    llvm::Value* which = ir.CreateCall(module.getOrInsertFunction(function_mark, number), {call.getCalledOperand()});
    llvm::BasicBlock* wrong = llvm::BasicBlock::Create(module.getContext(), "no_function", call.getFunction(), after);
    before->getTerminator()->eraseFromParent();
    ir.SetInsertPoint(before);
    ir.SetCurrentDebugLocation(call.getDebugLoc());
    llvm::SwitchInst* choice = ir.CreateSwitch(which, wrong);
    const bool gives = !call.getType()->isVoidTy();
    llvm::PHINode* result = nullptr;
    if (gives) {
        ir.SetInsertPoint(&*after->begin());
        result = ir.CreatePHI(call.getType(), 2);
    }
    ir.SetInsertPoint(wrong);
    ir.SetCurrentDebugLocation(call.getDebugLoc());
    ir.CreateCall(module.getOrInsertFunction("sonde_mark_no_function", llvm::FunctionType::get(ir.getVoidTy(), false)));
    ir.CreateBr(after);
    if (gives)
        result->addIncoming(llvm::Constant::getNullValue(call.getType()), wrong);
    for (const auto& [function, id] : numbers) {
        if (function->getFunctionType() != call.getFunctionType())
            continue;
        llvm::BasicBlock* block = llvm::BasicBlock::Create(module.getContext(), "chosen", call.getFunction(), wrong);
        choice->addCase(id, block);
        auto* direct = llvm::cast<llvm::CallBase>(call.clone());
        direct->setCalledFunction(function);
        direct->insertInto(block, block->end());
        ir.SetInsertPoint(block);
        ir.CreateBr(after);
        if (gives)
            result->addIncoming(direct, block);
    }
    if (gives)
        call.replaceAllUsesWith(result);
    call.eraseFromParent();
}

bool is_constant(const llvm::Value* object) {
    const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(object);
    return global && global->isConstant() && global->hasInitializer();
}

class Pool {
  public:
    explicit Pool(llvm::Module& module) : module_(module), layout_(module.getDataLayout()) {}

    bool run() {
        std::vector<llvm::GlobalVariable*> tables;
        for (llvm::GlobalVariable& global : module_.globals()) {
            global.removeDeadConstantUsers();
            if (is_constant(&global) && !global.use_empty() && holds_address(*global.getInitializer()) &&
                is_used_by_code(global))
                tables.push_back(&global);
        }
        if (tables.empty())
            return false;
        for (llvm::GlobalVariable* table : tables) {
            if (!place_all(*table->getInitializer()) || !is_read_by_parts(*table))
                return false;
            holders_.insert(table);
        }
        for (const auto& [global, place] : places_)
            holders_.insert(global);
        if (!find_loads())
            return false;
        std::string bytes(places_end_, '\0');
        for (const auto& [global, place] : places_)
            write(bytes, place, *global->getInitializer());
        pool_ = make(bytes, "pool");
        for (const auto& [global, place] : places_)
            point_into_pool(*global, place);
        replace(tables);
        for (llvm::LoadInst* load : loads_)
            decode(*load);
        return true;
    }

  private:
    static bool is_used_by_code(const llvm::Constant& value) {
        return llvm::any_of(value.users(), [](const llvm::User* user) {
            const auto* constant = llvm::dyn_cast<llvm::Constant>(user);
            return !constant || (!llvm::isa<llvm::GlobalValue>(user) && is_used_by_code(*constant));
        });
    }

    // Whether all uses read single elements. A copy of the whole would contain numbers that nothing converts back to
    // pointers.
    static bool is_read_by_parts(llvm::Value& value) {
        llvm::SmallVector<llvm::Value*, 8> todo = {&value};
        llvm::SmallPtrSet<llvm::Value*, 8> seen;
        while (!todo.empty()) {
            llvm::Value* at = todo.pop_back_val();
            if (!seen.insert(at).second)
                continue;
            for (const llvm::Use& use : at->uses()) {
                llvm::User* user = use.getUser();
                const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
                if (llvm::isa<llvm::MemTransferInst>(user))
                    return false;
                if (call && helper_number(*call) && call->isArgOperand(&use) &&
                    helper_name(*helper_number(*call)) == "bpf_probe_read_kernel")
                    return false;
                if (llvm::isa<llvm::GEPOperator>(user) || llvm::isa<llvm::PHINode>(user) ||
                    llvm::isa<llvm::SelectInst>(user))
                    todo.push_back(user);
            }
        }
        return true;
    }

    // The constant that the address points into, and the offset.
    std::pair<llvm::GlobalVariable*, uint64_t> target_of(const llvm::Constant& address) const {
        llvm::APInt offset(64, 0);
        const llvm::Value* base = address.stripAndAccumulateConstantOffsets(layout_, offset, true);
        auto* global = const_cast<llvm::GlobalVariable*>(llvm::dyn_cast<llvm::GlobalVariable>(base));
        return {global && is_constant(global) ? global : nullptr, offset.getZExtValue()};
    }
    static bool is_plain_number(const llvm::Constant& address) {
        const auto* made = llvm::dyn_cast<llvm::ConstantExpr>(&address);
        return made && made->getOpcode() == llvm::Instruction::IntToPtr &&
               llvm::isa<llvm::ConstantInt>(made->getOperand(0));
    }

    // Adds all constants to the pool that addresses in this value point to. Returns false if one points to something
    // else.
    bool place_all(const llvm::Constant& value) {
        if (value.getType()->isPointerTy()) {
            if (value.isNullValue() || llvm::isa<llvm::UndefValue>(value) || is_plain_number(value))
                return true;
            auto [global, offset] = target_of(value);
            return global && place(*global);
        }
        if (!holds_address(value))
            return true;
        if (!value.getType()->isAggregateType())
            return false; // an address in an integer
        return llvm::all_of(value.operands(),
                            [&](const llvm::Use& part) { return place_all(*llvm::cast<llvm::Constant>(part.get())); });
    }
    bool place(llvm::GlobalVariable& global) {
        if (places_.contains(&global))
            return true;
        places_end_ = llvm::alignTo(places_end_, 8);
        places_[&global] = places_end_;
        places_end_ += layout_.getTypeAllocSize(global.getValueType());
        return is_read_by_parts(global) && place_all(*global.getInitializer());
    }

    void write_number(std::string& bytes, uint64_t at, const llvm::APInt& number, uint64_t size) const {
        for (uint64_t i = 0; i < size && 8 * i < number.getBitWidth(); i++)
            bytes[at + i] = static_cast<char>(number.extractBitsAsZExtValue(
                std::min<unsigned>(8, number.getBitWidth() - 8 * static_cast<unsigned>(i)),
                8 * static_cast<unsigned>(i)));
    }
    void write(std::string& bytes, uint64_t at, const llvm::Constant& value) const {
        llvm::Type* type = value.getType();
        if (value.isNullValue() || llvm::isa<llvm::UndefValue>(value))
            return;
        if (type->isPointerTy()) {
            uint64_t number = 0;
            if (is_plain_number(value)) {
                number = llvm::cast<llvm::ConstantInt>(value.getOperand(0))->getZExtValue();
            } else {
                auto [global, offset] = target_of(value);
                number = places_.at(global) + offset;
            }
            write_number(bytes, at, llvm::APInt(64, number), 8);
        } else if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
            write_number(bytes, at, number->getValue(), layout_.getTypeStoreSize(type));
        } else if (auto* record = llvm::dyn_cast<llvm::StructType>(type)) {
            for (unsigned i = 0; i < record->getNumElements(); i++)
                write(bytes, at + layout_.getStructLayout(record)->getElementOffset(i), *value.getAggregateElement(i));
        } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
            const uint64_t step = layout_.getTypeAllocSize(array->getElementType());
            for (unsigned i = 0; i < array->getNumElements(); i++)
                write(bytes, at + i * step, *value.getAggregateElement(i));
        }
    }

    llvm::GlobalVariable* make(const std::string& bytes, const llvm::Twine& name) {
        llvm::Constant* value = llvm::ConstantDataArray::getString(module_.getContext(), bytes, false);
        auto* out =
            new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::InternalLinkage, value, name);
        out->setAlignment(llvm::Align(8));
        return out;
    }
    // Write the bytes of all tables before removing the first one, because tables can refer to each other.
    void replace(const std::vector<llvm::GlobalVariable*>& tables) {
        std::vector<llvm::GlobalVariable*> made;
        for (const llvm::GlobalVariable* table : tables) {
            std::string bytes(layout_.getTypeAllocSize(table->getValueType()), '\0');
            write(bytes, 0, *table->getInitializer());
            made.push_back(make(bytes, ""));
        }
        for (size_t i = 0; i < tables.size(); i++) {
            made[i]->copyMetadata(tables[i], 0);
            made[i]->takeName(tables[i]);
            tables[i]->replaceAllUsesWith(made[i]);
        }
        for (llvm::GlobalVariable* table : tables)
            table->setInitializer(nullptr);
        for (llvm::GlobalVariable* table : tables)
            table->eraseFromParent();
    }

    // Finds the loads of addresses that became numbers. Returns false if one can also load another address. Example of
    // a list, whose walk has one such load:
    //
    //     struct item { const struct item *next; int id; };
    //     static const struct item last = {0, 2}, first = {&last, 1};
    //     for (const struct item *p = &first; p; p = p->next)      // p is &first, or the result of this load
    //
    // If `p` could also be an argument of the function, `p->next` could be an address of the kernel. Then the constants
    // stay unchanged, and refuse_addresses() reports them.
    bool find_loads() {
        std::vector<llvm::LoadInst*> all;
        std::set<const llvm::Value*> found;
        for (llvm::Function& function : module_)
            for (llvm::BasicBlock& block : function)
                for (llvm::Instruction& at : block)
                    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&at); load && load->getType()->isPointerTy()) {
                        all.push_back(load);
                        found.insert(load);
                    }
        // The next element of a list is loaded through a pointer that was loaded before. So all loads qualify until one
        // has another origin.
        auto objects_of = [](const llvm::LoadInst& load) {
            llvm::SmallVector<const llvm::Value*, 4> out;
            llvm::getUnderlyingObjects(load.getPointerOperand(), out, nullptr, 0);
            llvm::erase_if(out, [](const llvm::Value* one) { return llvm::isa<llvm::ConstantPointerNull>(one); });
            return out;
        };
        for (bool is_new = true; is_new;) {
            is_new = false;
            for (llvm::LoadInst* load : all)
                if (const auto objects = objects_of(*load);
                    found.contains(load) && (objects.empty() || !llvm::all_of(objects, [&](const llvm::Value* object) {
                                                 return holders_.contains(object) || found.contains(object);
                                             })))
                    is_new = found.erase(load) > 0;
        }
        for (llvm::LoadInst* load : all)
            if (found.contains(load))
                loads_.push_back(load);
            else if (llvm::any_of(objects_of(*load), [&](const llvm::Value* object) {
                         return holders_.contains(object) || found.contains(object);
                     }))
                return false;
        return true;
    }

    // Makes addresses in the code equal to those in tables: they point into the pool, too.
    void point_into_pool(llvm::GlobalVariable& global, uint64_t place) {
        llvm::convertUsersOfConstantsToInstructions({&global});
        llvm::Constant* there = llvm::ConstantExpr::getGetElementPtr(
            llvm::Type::getInt8Ty(module_.getContext()), pool_,
            llvm::ConstantInt::get(llvm::Type::getInt64Ty(module_.getContext()), place));
        global.replaceUsesWithIf(there, [](const llvm::Use& use) {
            const auto* user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
            return user && !llvm::isa<llvm::GetElementPtrInst>(user) && !llvm::isa<llvm::LoadInst>(user);
        });
    }

    struct Usage {
        bool is_function = false; // it is called, or compared with a function
        bool may_be_null = false; // it is compared with NULL
    };
    static void find_usage(const llvm::Value& value, Usage& out, llvm::SmallPtrSetImpl<const llvm::Value*>& seen) {
        if (!seen.insert(&value).second)
            return;
        for (const llvm::User* user : value.users()) {
            const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
            if (call && call->getCalledFunction() && call->getCalledFunction()->getName() == function_mark)
                out.is_function = true;
            else if (const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(user))
                for (const llvm::Use& other : compared->operands()) {
                    const auto* constant = llvm::dyn_cast<llvm::Constant>(other.get());
                    out.is_function = out.is_function || (constant && is_plain_number(*constant));
                }
            if (llvm::isa<llvm::PHINode>(user) || llvm::isa<llvm::SelectInst>(user))
                find_usage(*user, out, seen);
            else if (!llvm::isa<llvm::GetElementPtrInst>(user) && !llvm::isa<llvm::LoadInst>(user))
                out.may_be_null = true;
        }
    }

    // Replaces the load of a pointer by the load of a number, which becomes a pointer again:
    // * A function's number stays as it is. Only comparisons and the `switch` of a call use it.
    // * A constant's number is added to the pool's address. 0 becomes `nowhere`, so that an access through NULL fails
    //   the check of the bounds. Where the pointer is compared with NULL, 0 stays 0.
    void decode(llvm::LoadInst& load) {
        Usage usage;
        llvm::SmallPtrSet<const llvm::Value*, 8> seen;
        find_usage(load, usage, seen);
        llvm::IRBuilder<> ir(&load);
        llvm::Value* number = ir.CreateAlignedLoad(ir.getInt64Ty(), load.getPointerOperand(), load.getAlign());
        llvm::Value* is_null = ir.CreateICmpEQ(number, ir.getInt64(0));
        llvm::Value* pointer = nullptr;
        if (usage.is_function) {
            pointer = ir.CreateIntToPtr(number, ir.getPtrTy());
        } else {
            llvm::Value* place = ir.CreateSelect(is_null, ir.getInt64(nowhere), number);
            pointer = ir.CreateGEP(ir.getInt8Ty(), pool_, place);
            if (usage.may_be_null) {
                llvm::Value* direct = pointer;
                load.replaceUsesWithIf(direct, [](const llvm::Use& use) {
                    return llvm::isa<llvm::GetElementPtrInst>(use.getUser()) ||
                           llvm::isa<llvm::LoadInst>(use.getUser());
                });
                pointer = ir.CreateSelect(is_null, llvm::ConstantPointerNull::get(ir.getPtrTy()), direct);
            }
        }
        load.replaceAllUsesWith(pointer);
        load.eraseFromParent();
    }

    llvm::Module& module_;
    const llvm::DataLayout& layout_;
    std::map<llvm::GlobalVariable*, uint64_t> places_; // in the pool
    uint64_t places_end_ = 8;                          // offset 0 means NULL
    llvm::GlobalVariable* pool_ = nullptr;
    std::set<const llvm::Value*> holders_; // constants whose addresses become numbers
    std::vector<llvm::LoadInst*> loads_;   // loads from these
};

} // namespace

void find_constants(llvm::Module& module) {
    for (llvm::GlobalVariable& global : module.globals()) {
        llvm::SmallPtrSet<llvm::Value*, 8> seen;
        global.removeDeadConstantUsers();
        if (!global.isConstant() && global.hasInitializer() && is_only_read(global, seen))
            global.setConstant(true);
    }
}

bool choose_functions(llvm::Module& module) {
    const std::vector<llvm::Function*> functions = functions_with_addresses(module);
    if (functions.empty())
        return false;
    Numbers numbers;
    llvm::Type* number = llvm::Type::getInt64Ty(module.getContext());
    for (llvm::Function* function : functions)
        numbers[function] =
            llvm::cast<llvm::ConstantInt>(llvm::ConstantInt::get(number, first_function + numbers.size()));
    std::vector<llvm::CallBase*> calls;
    for (llvm::Function& function : module)
        for (llvm::BasicBlock& block : function)
            for (llvm::Instruction& at : block)
                if (auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
                    call && is_through_pointer(*call) && llvm::any_of(functions, [&](llvm::Function* one) {
                        return one->getFunctionType() == call->getFunctionType();
                    }))
                    calls.push_back(call);
    if (calls.empty())
        return false;
    for (llvm::CallBase* call : calls)
        choose(*call, numbers);
    for (const auto& [function, id] : numbers) {
        std::vector<llvm::CallBase*> direct;
        for (const llvm::Use& use : function->uses())
            if (auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser()); call && call->isCallee(&use))
                direct.push_back(call);
        function->replaceAllUsesWith(llvm::ConstantExpr::getIntToPtr(id, function->getType()));
        for (llvm::CallBase* call : direct)
            call->setCalledFunction(function);
    }
    return true;
}

bool number_addresses(llvm::Module& module) {
    const bool has_pool = Pool(module).run();
    llvm::Function* mark = module.getFunction(function_mark);
    if (!mark)
        return has_pool;
    for (llvm::User* user : llvm::make_early_inc_range(mark->users())) {
        auto* call = llvm::cast<llvm::CallBase>(user);
        llvm::IRBuilder<> ir(call);
        call->replaceAllUsesWith(ir.CreatePtrToInt(call->getArgOperand(0), ir.getInt64Ty()));
        call->eraseFromParent();
    }
    return true;
}

} // namespace sonde
