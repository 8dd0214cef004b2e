program pascal;
{ Free Pascal: functions without declared places, strings by reference, arrays that begin anywhere. }
type
  TItem = record
    id: integer;
    name: string[10];
    list: array[3..5] of integer;
  end;
function total(var one: TItem; text: ansistring; step: integer): integer;
begin
  total := one.id + length(text) + one.list[4] * step;
end;
var
  one: TItem;
begin
  one.id := 7;
  one.name := 'tea';
  one.list[3] := 30;
  one.list[4] := 40;
  one.list[5] := 50;
  writeln(total(one, 'hello', 2));
end.
